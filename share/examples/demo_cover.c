/* SPDX-License-Identifier: MIT */
/* Paint the cover: mirroring balls on a floor, by recursive ray tracing through a tree of boxes. */
#include <math.h>

#include "share/examples/demo.h"

#define WIDTH   640
#define HEIGHT  480
#define BALLS   400
#define BOUNCES 5
#define FAR     1e30f

struct vector {
	float x, y, z;
};

struct ball {
	struct vector centre;
	float radius;
	float mirror; /* share of the light that is reflected */
};

/* A node of the tree contains the balls [first, last). A leaf contains at most two. */
struct node {
	struct vector lo, hi;
	unsigned first, last;
	struct node *left, *right;
};

struct hit {
	float distance;
	const struct ball *ball;
};

struct scene {
	struct ball balls[BALLS];
	struct node nodes[2 * BALLS];
	unsigned nodes_used;
};

static float smaller(float a, float b)
{
	return a < b ? a : b;
}

static float larger(float a, float b)
{
	return a > b ? a : b;
}

static struct vector add(struct vector a, struct vector b, float scale)
{
	return (struct vector){a.x + b.x * scale, a.y + b.y * scale, a.z + b.z * scale};
}

static float dot(struct vector a, struct vector b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector unit(struct vector a)
{
	return add((struct vector){0, 0, 0}, a, 1 / sqrtf(dot(a, a)));
}

BOX static void ball_hit(const struct ball *ball, struct vector from, struct vector ray,
	struct hit *hit)
{
	struct vector to = add(ball->centre, from, -1);
	float along = dot(to, ray);
	float square = ball->radius * ball->radius - dot(to, to) + along * along;

	if (square < 0)
		return;
	float distance = along - sqrtf(square);
	if (distance > 1e-3f && distance < hit->distance) {
		hit->distance = distance;
		hit->ball = ball;
	}
}

static int slab(float from, float ray, float lo, float hi, float *near, float *far)
{
	float a = (lo - from) / ray;
	float b = (hi - from) / ray;

	*near = larger(*near, smaller(a, b));
	*far = smaller(*far, larger(a, b));
	return *near <= *far;
}

static void tree_hit(const struct scene *scene, const struct node *node, struct vector from,
	struct vector ray, struct hit *hit)
{
	float near = 0;
	float far = hit->distance;

	if (!slab(from.x, ray.x, node->lo.x, node->hi.x, &near, &far) ||
		!slab(from.y, ray.y, node->lo.y, node->hi.y, &near, &far) ||
		!slab(from.z, ray.z, node->lo.z, node->hi.z, &near, &far))
		return;
	if (node->left) {
		tree_hit(scene, node->left, from, ray, hit);
		tree_hit(scene, node->right, from, ray, hit);
		return;
	}
	for (unsigned i = node->first; i < node->last; i++)
		ball_hit(&scene->balls[i], from, ray, hit);
}

BOX static float shadow(const struct scene *scene, struct vector point, struct vector light)
{
	struct hit hit = {FAR, NULL};

	tree_hit(scene, &scene->nodes[0], point, light, &hit);
	return hit.ball ? 0.2f : 1.0f;
}

BOX static float sky(struct vector ray)
{
	return 0.3f + 0.7f * powf(fmaxf(ray.y, 0), 0.4f) + 0.05f * sinf(20 * ray.x);
}

static float trace(const struct scene *scene, struct vector from, struct vector ray, int bounces)
{
	static const struct vector light = {0.48f, 0.8f, -0.36f};
	struct hit hit = {ray.y < 0 ? -from.y / ray.y : FAR, NULL};

	if (hit.distance <= 1e-3f)
		hit.distance = FAR;
	tree_hit(scene, &scene->nodes[0], from, ray, &hit);
	if (hit.distance >= FAR)
		return sky(ray);

	struct vector point = add(from, ray, hit.distance);
	struct vector normal = {0, 1, 0};
	float mirror = 0.1f;
	if (hit.ball) {
		normal = unit(add(point, hit.ball->centre, -1));
		mirror = hit.ball->mirror;
	}
	float bright = fmaxf(dot(normal, light), 0.1f) * shadow(scene, point, light);
	if (!bounces)
		return bright;
	struct vector mirrored = add(ray, normal, -2 * dot(ray, normal));
	return (1 - mirror) * bright + mirror * trace(scene, point, mirrored, bounces - 1);
}

static float axis_of(const struct ball *ball, unsigned axis)
{
	return axis ? ball->centre.z : ball->centre.x;
}

/*
 * Build the tree of the balls [first, last). Levels sort balls by x and z in turn, not by y,
 * because all balls are near the floor.
 */
static struct node *tree_build(struct scene *scene, unsigned first, unsigned last, unsigned axis)
{
	struct node *node = &scene->nodes[scene->nodes_used++];
	unsigned middle = first + (last - first) / 2;

	*node = (struct node){{FAR, FAR, FAR}, {-FAR, -FAR, -FAR}, first, last, NULL, NULL};
	for (unsigned i = first; i < last; i++) {
		struct ball *b = &scene->balls[i];
		node->lo.x = smaller(node->lo.x, b->centre.x - b->radius);
		node->lo.y = smaller(node->lo.y, b->centre.y - b->radius);
		node->lo.z = smaller(node->lo.z, b->centre.z - b->radius);
		node->hi.x = larger(node->hi.x, b->centre.x + b->radius);
		node->hi.y = larger(node->hi.y, b->centre.y + b->radius);
		node->hi.z = larger(node->hi.z, b->centre.z + b->radius);
		for (unsigned j = i; j > first; j--) {
			struct ball swap = scene->balls[j];
			if (axis_of(&scene->balls[j - 1], axis) <= axis_of(&swap, axis))
				break;
			scene->balls[j] = scene->balls[j - 1];
			scene->balls[j - 1] = swap;
		}
	}
	if (last - first > 2) {
		node->left = tree_build(scene, first, middle, !axis);
		node->right = tree_build(scene, middle, last, !axis);
	}
	return node;
}

static void scene_build(struct scene *scene)
{
	uint64_t seed = 0x2545f4914f6cdd1dULL;

	for (unsigned i = 0; i < BALLS; i++) {
		struct ball *ball = &scene->balls[i];
		ball->radius = 0.2f + (float)(next_random(&seed) % 100) / 200;
		ball->mirror = 0.2f + (float)(next_random(&seed) % 100) / 150;
		ball->centre.x = (float)(next_random(&seed) % 2400) / 100 - 12;
		ball->centre.y = ball->radius + (float)(next_random(&seed) % 300) / 100;
		ball->centre.z = (float)(next_random(&seed) % 2400) / 100 + 3;
	}
	scene->nodes_used = 0;
	tree_build(scene, 0, BALLS, 0);
}

uint64_t cover_paint(unsigned first, unsigned step)
{
	struct vector eye = {0, 3, -6};
	struct scene scene;
	uint64_t checksum = 0;

	scene_build(&scene);
	for (unsigned y = first; y < HEIGHT; y += step) {
		for (unsigned sample = 0; sample < WIDTH * 12; sample++) {
			float x = (float)sample / 12;
			struct vector ray = unit((struct vector){(x - WIDTH / 2) / WIDTH,
				(HEIGHT / 2.2f - (float)y) / WIDTH, 1});
			checksum += (uint64_t)(trace(&scene, eye, ray, BOUNCES) * 255);
		}
	}
	return checksum;
}

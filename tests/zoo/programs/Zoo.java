// SPDX-License-Identifier: MIT
// heavy() does twice light()'s work, 51 frames of deep() below main().
public class Zoo {
	static int spin(int n) { int x = 1; for (int i = 0; i < n; i++) x = x * 1103515245 + i; return x; }
	static int heavy(int n) { return spin(2 * n) >> 1; }
	static int light(int n) { return spin(n) >> 2; }
	static int deep(int d, int n) { return d > 0 ? deep(d - 1, n) + 1 : heavy(n) ^ light(n); }
	public static void main(String[] words) {
		int sum = 0, turns = words.length > 0 ? Integer.parseInt(words[0]) : 2000;
		for (int i = 0; i < turns; i++) sum += deep(50, 200000 + i % 97 * 2000);
		System.out.println(sum);
	}
}

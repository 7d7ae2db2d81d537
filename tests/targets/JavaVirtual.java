// SPDX-License-Identifier: MIT
//
// Like JavaTruth, for virtual threads that run one at a time on one carrier (JDK 21 or later):
//
//     java -Djdk.virtualThreadScheduler.parallelism=1 -Djdk.virtualThreadScheduler.maxPoolSize=1 \
//         -cp CLASSES JavaVirtual FILE MS ROUNDS
//
// The JVM reports a virtual thread's stack up to Continuation.enter. The stacks of the carrier
// while it ran a virtual thread are stored as "carrier 1" and so on.
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntSupplier;

public class JavaVirtual {
    static final List<List<String>> carriers = new ArrayList<>();

    // Store the carrier thread and its stack. After this call the current virtual thread runs
    // without waiting.
    static void mounted() {
        for (Map.Entry<Thread, StackTraceElement[]> entry : Thread.getAllStackTraces().entrySet()) {
            StackTraceElement[] trace = entry.getValue();
            if (trace.length == 0 || !trace[0].getMethodName().equals("run")
                || !trace[0].getClassName().equals("jdk.internal.vm.Continuation"))
                continue;
            JavaTruth.carrier = entry.getKey().threadId();
            List<String> stack = JavaTruth.list(trace, 0);
            if (!carriers.contains(stack))
                carriers.add(stack);
        }
    }

    static int spin_started() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_deep() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_pool() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_pinned() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_waited() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_yielded() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_returned() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_often() { long end = JavaTruth.begin(); int x = 0; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_arguments(int a, int b, long c, int d, double e, int f, long g, int h, Object k, double l, int m, long n) { long end = JavaTruth.begin(); int x = a; while (JavaTruth.goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x + m; }

    static class Pinned { static final int X = initialize(); static int initialize() { sleep(); mounted(); return spin_pinned(); } }

    static int down(int depth, IntSupplier last) { return depth == 0 ? last.getAsInt() : down(depth - 1, last) + 1; }
    static int sleep() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return 0;
    }

    static int waited() { sleep(); mounted(); return spin_waited(); }
    static int yielded() { Thread.yield(); mounted(); return spin_yielded(); }
    static int returned() { int x = down(40, JavaVirtual::sleep); mounted(); return x + spin_returned(); }
    static int arguments(int a, int b, long c, int d, double e, int f, long g, int h, Object k, double l, int m, long n) { sleep(); mounted(); return spin_arguments(a, b, c, d, e, f, g, h, k, l, m, n); }

    // Call this method so many times that it is compiled. All its frames are then restored to the
    // stack at once.
    static int often(int depth) { return depth == 0 ? sleep() : often(depth - 1) + 1; }
    static int often() { int x = 0; for (int i = 0; i < 300; i++) x += often(8); mounted(); return x + spin_often(); }

    static void run(Runnable runnable) throws Exception { Thread.ofVirtual().start(runnable).join(); }

    public static void main(String[] words) throws Exception {
        JavaTruth.ns = (long) (Double.parseDouble(words[1]) * 1e6);
        for (int round = Integer.parseInt(words[2]); round > 0; round--) {
            run(() -> { mounted(); spin_started(); });
            run(() -> { mounted(); down(300, JavaVirtual::spin_deep); });
            try (ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
                pool.submit((Callable<Integer>) () -> { mounted(); return spin_pool(); }).get();
            }
            run(() -> { JavaTruth.kept = Pinned.X; });
            run(() -> { down(40, JavaVirtual::waited); });
            run(JavaVirtual::yielded);
            run(() -> { down(3, JavaVirtual::returned); });
            run(() -> { arguments(1, 2, 3, 4, 5, 6, 7, 8, "9", 10, 11, 12); });
            run(() -> { often(); });
        }
        int number = 0;
        for (List<String> stack : carriers)
            JavaTruth.expected.put("carrier " + ++number, stack);
        JavaTruth.tell(words[0]);
    }
}

// SPDX-License-Identifier: MIT
//
// A program that stores its own stacks. Each way of calling ends in a method of its own, spin_...,
// which stores its stack in FILE as the JVM reports it, outermost method first: [class.method,
// file, line now]. Then it uses the CPU for MS milliseconds.
//
//     java JavaTruth FILE MS ROUNDS [+]
//
// Meanwhile classes are loaded and unloaded and garbage is collected. With "+" the program begins
// when a line arrives on stdin.
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;

public class JavaTruth {
    static final Map<String, List<String>> expected = Collections.synchronizedMap(new TreeMap<>());
    static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    static long ns;
    static volatile boolean is_over;
    static volatile Object kept;

    // Return the frames of @trace from the outermost frame to frame number @last.
    public static List<String> list(StackTraceElement[] trace, int last) {
        List<String> stack = new ArrayList<>();
        for (int i = trace.length - 1; i >= last; i--)
            stack.add("[\"" + trace[i].getClassName() + "." + trace[i].getMethodName() + "\", \""
                + (trace[i].getFileName() == null ? "" : trace[i].getFileName()) + "\", "
                + Math.max(trace[i].getLineNumber(), 0) + "]");
        return stack;
    }

    // Store the stack of the method that calls this. Returns the CPU time at which it must end.
    public static long begin() {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        List<String> stack = list(trace, 1);
        String class_name = trace[1].getClassName();
        String name = trace[1].getMethodName();
        if (name.equals("spin_gone"))
            name = class_name + "." + name;
        List<String> last = expected.put(name, stack);
        if (last != null && !last.subList(0, last.size() - 1).equals(stack.subList(0, stack.size() - 1)))
            throw new IllegalStateException(last + "\n" + stack);
        return cpu_time() + ns;
    }

    // The id of the platform thread that runs the spinning virtual thread; 0: the current thread
    // spins itself.
    public static volatile long carrier;

    static long cpu_time() {
        return carrier == 0 ? clock.getCurrentThreadCpuTime() : clock.getThreadCpuTime(carrier);
    }

    private static long asked;

    /*
     * Returns whether to spin on. Reads the CPU time only every 5 ms; spin_until() in spin.h says
     * why.
     */
    public static boolean goes(long end) {
        if (System.nanoTime() - asked < 5000000)
            return true;
        boolean goes = cpu_time() < end;
        asked = System.nanoTime();
        return goes;
    }

    static int spin_plain() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_recursion() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_deep() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_lambda() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_thread() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_pool() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_stream(int v) { long end = begin(); int x = v; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    public static int spin_reflection() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_handle(int a, long b, double c) { long end = begin(); int x = a; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_catch() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_finally() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static synchronized int spin_locked() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_clinit() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_proxy() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; }
    static int spin_arguments(int a, int b, long c, int d, double e, int f, long g, int h, Object k, double l, int m, long n) { long end = begin(); int x = a; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x + m; }
    // Methods that call other methods while they spin.
    static int step(int x, int i) { return x * 7 + i; }
    static int spin_calls() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = step(x, i); return x; }
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static int spin_fib() { long end = begin(); int x = 0; while (goes(end)) x += fib(12); return x; }
    static int spin_strings() { long end = begin(); int x = 0; while (goes(end)) x += ("a" + x + "b" + end).hashCode(); return x; }
    static int spin_copies() { long end = begin(); int x = 0; int[] from = new int[4096], to = new int[4096]; while (goes(end)) { System.arraycopy(from, 0, to, 1, 4095); x += to[7]; from = to.clone(); } return x; }
    static int spin_sorts() { long end = begin(); int x = 0; while (goes(end)) { Integer[] a = new Integer[100]; for (int i = 0; i < 100; i++) a[i] = i * 7919 % 1009; Arrays.sort(a, (p, q) -> p - q); x += a[3]; } return x; }

    interface Shape { int area(); default int twice() { return area() * 2; } }
    static class Square implements Shape { public int area() { return spin_square(); } int spin_square() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; } }
    static class Circle implements Shape { public int area() { return spin_circle(); } private int spin_circle() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; } }
    static class Ring extends Circle { @Override public int area() { return super.area() + spin_ring(); } int spin_ring() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; } }
    static class Made { final int x; Made() { x = spin_made(); } int spin_made() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; } }
    static class Once { static final int X = spin_clinit(); }
    static class Box<T extends Comparable<T>> implements Comparable<Box<T>> { public int compareTo(Box<T> o) { return spin_bridge(); } int spin_bridge() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return 0; } }

    static int down(int depth, IntSupplier last) { return depth == 0 ? last.getAsInt() : down(depth - 1, last) + 1; }
    static int thrown(int depth) { if (depth == 0) throw new IllegalArgumentException(); return thrown(depth - 1) + 1; }

    static void plain() { spin_plain(); spin_calls(); spin_fib(); spin_strings(); spin_copies(); spin_sorts(); }
    static void recursion() { down(50, JavaTruth::spin_recursion); }
    static void deep() { down(1500, JavaTruth::spin_deep); }
    static void lambda() { int[] a = {1}; IntSupplier s = () -> spin_lambda() + a[0]; s.getAsInt(); }
    static void streams() { IntStream.range(0, 1).map(JavaTruth::spin_stream).sum(); }
    static void shapes() { for (Shape shape : new Shape[] {new Square(), new Ring()}) shape.twice(); }
    static void handles() throws Throwable {
        MethodHandle handle = MethodHandles.lookup().findStatic(JavaTruth.class, "spin_handle",
            MethodType.methodType(int.class, int.class, long.class, double.class));
        kept = (int) handle.invokeExact(1, 2L, 3.0);
        kept = JavaTruth.class.getMethod("spin_reflection").invoke(null);
    }
    static void failures() {
        try { thrown(20); } catch (IllegalArgumentException e) { spin_catch(); } finally { spin_finally(); }
    }
    static void objects() {
        kept = new Made();
        kept = Once.X;
        Comparable<Box<Integer>> box = new Box<>();
        box.compareTo(new Box<>());
        ((Runnable) Proxy.newProxyInstance(JavaTruth.class.getClassLoader(), new Class<?>[] {Runnable.class},
            (proxy, method, arguments) -> spin_proxy() > 0 ? null : null)).run();
    }
    static void arguments() { spin_arguments(1, 2, 3, 4, 5, 6, 7, 8, "9", 10, 11, 12); spin_locked(); }
    static void threads() throws Exception {
        Thread thread = new Thread(JavaTruth::spin_thread);
        thread.start();
        thread.join();
        ExecutorService pool = Executors.newFixedThreadPool(1);
        pool.submit((Callable<Integer>) JavaTruth::spin_pool).get();
        pool.shutdown();
    }

    // A class that is loaded repeatedly, each time under another name, and unloaded again.
    public static class Gone00000 implements Runnable { public void run() { spin_gone(); } int spin_gone() { long end = begin(); int x = 0; while (goes(end)) for (int i = 0; i < 20000; i++) x = x * 7 + i; return x; } }

    static class Loader extends ClassLoader {
        Loader() { super(JavaTruth.class.getClassLoader()); }
        Class<?> define(byte[] bytes) { return defineClass(null, bytes, 0, bytes.length); }
    }

    static byte[] code;

    static Runnable load(int number) throws Exception {
        String text = new String(code, StandardCharsets.ISO_8859_1)
            .replace("Gone00000", String.format("Gone%05d", number));
        return (Runnable) new Loader().define(text.getBytes(StandardCharsets.ISO_8859_1))
            .getDeclaredConstructor().newInstance();
    }

    static int number;

    static void gone() throws Exception { load(++number).run(); System.gc(); }

    static void churn() {
        try {
            for (int i = 50000; !is_over; i++) {
                kept = load(i);
                byte[][] garbage = new byte[100][];
                for (int k = 0; k < 1000; k++)
                    garbage[k % 100] = new byte[10000];
                kept = garbage;
                Thread.sleep(2);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] words) throws Throwable {
        ns = (long) (Double.parseDouble(words[1]) * 1e6);
        try (InputStream in = JavaTruth.class.getResourceAsStream("JavaTruth$Gone00000.class")) {
            code = in.readAllBytes();
        }
        if (words.length > 3)
            System.in.read();
        Thread churning = new Thread(JavaTruth::churn);
        churning.setDaemon(true);
        churning.start();
        for (int round = Integer.parseInt(words[2]); round > 0; round--) {
            plain();
            recursion();
            deep();
            lambda();
            streams();
            shapes();
            handles();
            failures();
            objects();
            arguments();
            threads();
            gone();
        }
        is_over = true;
        churning.join();
        tell(words[0]);
    }

    public static void tell(String file) throws Exception {
        StringBuilder out = new StringBuilder("{");
        for (Map.Entry<String, List<String>> entry : expected.entrySet())
            out.append(out.length() > 1 ? ",\n" : "\n").append('"').append(entry.getKey())
                .append("\": ").append(entry.getValue());
        Files.writeString(Path.of(file), out.append("\n}\n").toString());
    }
}

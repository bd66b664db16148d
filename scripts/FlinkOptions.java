import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.FallbackKey;

/** Prints every option that a class in the given JARs of Flink declares: class, key, type, default, older keys. */
public class FlinkOptions {
    public static void main(String[] jars) throws Exception {
        for (String jar : jars) {
            try (ZipFile file = new ZipFile(jar)) {
                for (ZipEntry entry : Collections.list(file.entries())) {
                    String name = entry.getName();
                    if (name.startsWith("org/apache/flink/") && name.endsWith(".class") && !name.contains("/shaded/")) {
                        printOptionsOf(name.substring(0, name.length() - ".class".length()).replace('/', '.'));
                    }
                }
            }
        }
    }

    private static void printOptionsOf(String className) throws Exception {
        Field[] fields;
        try {
            fields = Class.forName(className, false, FlinkOptions.class.getClassLoader()).getDeclaredFields();
        } catch (LinkageError | ClassNotFoundException incomplete) {
            return; // a class for a library that is not here declares no option of Flink's own
        }
        for (Field field : fields) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == ConfigOption.class) {
                field.setAccessible(true);
                print(className, (ConfigOption<?>) field.get(null));
            }
        }
    }

    private static void print(String className, ConfigOption<?> option) throws Exception {
        if (option == null) {
            return;
        }
        List<String> older = new ArrayList<>();
        for (FallbackKey key : option.fallbackKeys()) {
            older.add(key.getKey());
        }
        String type = ((Class<?>) inner(option, "getClazz")).getSimpleName();
        boolean isList = (Boolean) inner(option, "isList");
        String value = option.hasDefaultValue() ? String.valueOf(option.defaultValue()) : "";
        System.out.println(
                String.join("\t", className, option.key(), isList ? "List" : type, value, String.join(" ", older)));
    }

    private static Object inner(ConfigOption<?> option, String method) throws Exception {
        Method found = ConfigOption.class.getDeclaredMethod(method);
        found.setAccessible(true);
        return found.invoke(option);
    }
}

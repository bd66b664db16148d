import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.nfa.NFA;
import org.apache.flink.cep.nfa.NFAState;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBuffer;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBufferAccessor;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.utils.TestSharedBuffer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Asks Flink: one scenario per line of the first file in, the same with its matches out to the second. */
public class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] files) throws Exception {
        List<String> answers = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(files[0]))) {
            answers.add(inTime((ObjectNode) JSON.readTree(line)));
        }
        Files.write(Path.of(files[1]), answers);
        System.exit(0); // the buffers of Flink leave timers running
    }

    /** Some patterns make Flink go round in circles: they are marked. */
    @SuppressWarnings("deprecation")
    private static String inTime(ObjectNode scenario) throws Exception {
        String[] answer = new String[1];
        Thread thread = new Thread(null, () -> {
            try {
                answer[0] = answer(scenario.deepCopy());
            } catch (Exception failure) {
                answer[0] = null;
            }
        }, "scenario", 1 << 20);
        thread.setDaemon(true);
        thread.start();
        thread.join(3000);
        if (thread.isAlive()) {
            thread.stop();
        }
        return answer[0] != null ? answer[0] : JSON.writeValueAsString(scenario.put("failed", "no answer"));
    }

    private static String answer(ObjectNode scenario) throws Exception {
        AfterMatchSkipStrategy skip = skip(scenario.get("skip"));
        NFA<String> nfa;
        try {
            nfa = NFACompiler.compileFactory(build(scenario.get("pattern"), skip), true).createNFA();
        } catch (Exception malformed) {
            return JSON.writeValueAsString(scenario.put("malformed", String.valueOf(malformed.getMessage())));
        }
        SharedBuffer<String> buffer = TestSharedBuffer.createTestBuffer(StringSerializer.INSTANCE);
        NFAState state = nfa.createInitialNFAState();
        List<Object> steps = new ArrayList<>();
        try {
            for (JsonNode event : scenario.get("events")) {
                steps.add(step(nfa, buffer, state, skip, event.get(0).asText(), event.get(1).asLong()));
            }
        } catch (Exception | StackOverflowError failure) {
            scenario.put("failed", String.valueOf(failure));
        }
        buffer.releaseCacheStatisticsTimer();
        scenario.set("steps", JSON.valueToTree(steps));
        return JSON.writeValueAsString(scenario);
    }

    private static List<Object> step(
            NFA<String> nfa, SharedBuffer<String> buffer, NFAState state, AfterMatchSkipStrategy skip, String event, long time)
            throws Exception {
        try (SharedBufferAccessor<String> accessor = buffer.getAccessor()) {
            Tuple2<Collection<Map<String, List<String>>>, Collection<Tuple2<Map<String, List<String>>, Long>>> byTime =
                    nfa.advanceTime(accessor, state, time, skip);
            List<Object> timeouts = new ArrayList<>();
            byTime.f1.forEach(each -> timeouts.add(List.of(each.f0, each.f1)));
            return List.of(byTime.f0, timeouts, nfa.process(accessor, state, event, time, skip, () -> 0L));
        }
    }

    private static Pattern<String, ?> build(JsonNode stages, AfterMatchSkipStrategy skip) {
        Pattern<String, String> pattern = null;
        for (JsonNode stage : stages) {
            pattern = added(pattern, stage, skip);
            if (stage.has("where")) {
                pattern.where(new Where(stage.get("where")));
            }
            repeat(pattern, stage);
            if (stage.has("until")) {
                pattern.until(new Where(stage.get("until")));
            }
            if (stage.has("within")) {
                pattern.within(Duration.ofMillis(stage.get("within").asLong()));
            }
            if (stage.has("within_previous")) {
                pattern.within(Duration.ofMillis(stage.get("within_previous").asLong()), WithinType.PREVIOUS_AND_CURRENT);
            }
        }
        return pattern;
    }

    @SuppressWarnings("unchecked")
    private static Pattern<String, String> added(Pattern<String, String> before, JsonNode stage, AfterMatchSkipStrategy skip) {
        String how = stage.path("how").asText("begin");
        if (stage.has("group")) {
            Pattern<String, String> group =
                    (Pattern<String, String>) build(stage.get("group"), AfterMatchSkipStrategy.noSkip());
            switch (how) {
                case "begin": return Pattern.begin(group, skip);
                case "next": return before.next(group);
                case "followed_by": return before.followedBy(group);
                default: return before.followedByAny(group);
            }
        }
        String name = stage.get("name").asText();
        switch (how) {
            case "begin": return Pattern.begin(name, skip);
            case "next": return before.next(name);
            case "followed_by": return before.followedBy(name);
            case "followed_by_any": return before.followedByAny(name);
            case "not_next": return before.notNext(name);
            default: return before.notFollowedBy(name);
        }
    }

    private static void repeat(Pattern<String, String> pattern, JsonNode stage) {
        Duration window = stage.has("times_window") ? Duration.ofMillis(stage.get("times_window").asLong()) : null;
        if (stage.has("or_more")) {
            pattern.timesOrMore(stage.get("or_more").asInt(), window);
        } else if (stage.has("times")) {
            pattern.times(stage.get("times").get(0).asInt(), stage.get("times").get(1).asInt(), window);
        }
        for (JsonNode setting : stage.path("settings")) {
            switch (setting.asText()) {
                case "consecutive": pattern.consecutive(); break;
                case "allow_combinations": pattern.allowCombinations(); break;
                case "greedy": pattern.greedy(); break;
                default: pattern.optional();
            }
        }
    }

    private static AfterMatchSkipStrategy skip(JsonNode skip) {
        switch (skip.get(0).asText()) {
            case "no_skip": return AfterMatchSkipStrategy.noSkip();
            case "skip_to_next": return AfterMatchSkipStrategy.skipToNext();
            case "skip_past_last_event": return AfterMatchSkipStrategy.skipPastLastEvent();
            case "skip_to_first": return AfterMatchSkipStrategy.skipToFirst(skip.get(1).asText());
            default: return AfterMatchSkipStrategy.skipToLast(skip.get(1).asText());
        }
    }

    /** Events that begin with one of these letters; with a limit, only while a stage has taken fewer than so many. */
    private static class Where extends IterativeCondition<String> {
        private final Set<String> letters = new HashSet<>();
        private String stage;
        private int fewerThan;

        Where(JsonNode where) {
            where.get("letters").forEach(letter -> letters.add(letter.asText()));
            if (where.has("fewer_than")) {
                stage = where.get("fewer_than").get(0).asText();
                fewerThan = where.get("fewer_than").get(1).asInt();
            }
        }

        @Override
        public boolean filter(String event, Context<String> context) throws Exception {
            if (!letters.contains(event.substring(0, 1))) {
                return false;
            }
            int taken = 0;
            if (stage != null) {
                for (String ignored : context.getEventsForPattern(stage)) {
                    taken++;
                }
            }
            return stage == null || taken < fewerThan;
        }
    }
}

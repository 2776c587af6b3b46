import type { Msg } from '../../message/msg.ts';
import type { AnswerSchema } from '../../model/structured/answer-schema.ts';
import { copyJson, isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import type { AnySchema } from '../../util/schema.ts';
import { oneLine } from '../../util/text.ts';
import { A2AError } from '../protocol/a2a-error.ts';
import { dataIn } from '../protocol/data-block.ts';

const MAX_PROBLEM_CHARS = 300;

/**
 * The answer of a remote agent with its structured output: the last of its data parts that fits the schema; without data parts, a
 * text that is JSON as a whole.
 * @throws A2AError if nothing fits; the answer is its `reply`
 */
export async function withStructuredOutput(answer: Msg, schema: AnswerSchema<AnySchema>): Promise<Msg> {
  const data = dataIn(answer);
  const candidates = data.length > 0 ? data : [readJson(answer.text)];
  let problem = 'It has no data part.';
  for (const candidate of candidates.filter(isJsonObject).toReversed()) {
    const checked = await schema.check(candidate);
    if (checked.ok) {
      const { _is_interrupted: _, ...own } = jsonOf(checked.value, candidate); // a mark that no remote agent may set
      const metadata = { ...own, ...answer.metadata };
      return answer.with({ structured: checked.value, metadata, endReason: 'structured' });
    }
    const found = checked.problems.map(({ path, message }) =>
      path === '' ? message : `${path}: ${message}`,
    );
    problem = oneLine(found.join(' ')).slice(0, MAX_PROBLEM_CHARS);
  }
  const text = `The answer of the remote agent ${answer.name} does not fit the structuredModel. ${problem}`;
  throw new A2AError('bad_answer', text, { reply: answer });
}

/** The output as JSON; the data of the remote agent where the schema made something else of it, such as a `Date`. */
function jsonOf(output: unknown, data: JsonObject): JsonObject {
  try {
    const json = copyJson(output, 'the output');
    return isJsonObject(json) ? json : { value: json };
  } catch {
    return data;
  }
}

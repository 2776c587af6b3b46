import { TroupeError } from '../../errors.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import {
  PLAIN_CAPABILITIES,
  type ChatModelBase,
  type ModelCallOptions,
  type ModelRequest,
} from '../../model/chat-model-base.ts';
import type { ModelErrorKind } from '../../model/model-error.ts';
import type { ChatModelCase, ChatModelCheck, ContractScenario, ContractSubject } from '../chat-model-case.ts';
import { STALL_CHECKS } from './chat-model-stall-cases.ts';
import { check, checkJson, checkSame, frozen, rejects, textsIn, thrownBy } from '../contract-checks.ts';

const ANSWERS: Readonly<Record<string, ChatModelCheck>> = {
  'gives exactly the expected answer': givesAnswer,
  '`call` gives what `stream` gives': callIsStream,
  'finishes once, after all content': finishesOnce,
  'every delta is plain JSON': deltasAreJson,
  'usage is made of finite numbers': usageIsFinite,
  'answers a second time': answersAgain,
  'two answers at once do not mix': answersAtOnce,
  'does not change the request': keepsRequest,
  'accepts unknown fields': takesUnknownFields,
};

/** All cases. Scenarios may share names of cases. */
export const CASES: readonly ChatModelCase[] = [
  ...cases('text', {
    'has a name, and capabilities as data': describesItself,
    ...ANSWERS,
    'aborted before the start, rejects with the reason and does no work': obeysEarlyAbort,
    'aborted between two deltas, rejects with the reason': obeysAbortBetweenDeltas,
    'answers the next request after an abandoned one': survivesBeingLeft,
  }),
  ...cases('tools', { ...ANSWERS, 'every tool call starts once and ends once': callsAreWhole }),
  ...cases('stall', STALL_CHECKS),
  ...cases('failure', { 'fails before any content, every time': failsAtOnce }),
  ...cases('breaks', { 'fails after some content, every time': failsInTheMiddle }),
  ...(['failure', 'breaks'] as const).map((scenario) => ({
    name: 'the error holds no secret',
    scenario,
    needsSecret: true,
    run: keepsSecret,
  })),
];

function cases(
  scenario: ContractScenario,
  checks: Readonly<Record<string, ChatModelCheck>>,
): readonly ChatModelCase[] {
  return Object.entries(checks).map(([name, run]) => ({ name, scenario, run }));
}

async function describesItself({ make }: ContractSubject): Promise<void> {
  const { modelName, capabilities } = await make();
  check(typeof modelName === 'string' && modelName !== '', 'modelName should be a text.');
  checkJson(capabilities, 'capabilities');
  checkSame(Object.keys(capabilities).sort(), Object.keys(PLAIN_CAPABILITIES).sort(), 'capabilities');
}

async function givesAnswer({ make, request, expected }: ContractSubject): Promise<void> {
  const deltas = await read(await make(), request);
  checkAnswer(fold(deltas), expected, 'the answer');
  if (typeof expected !== 'string') return;
  const texts = deltas.flatMap((delta) => (delta.type === 'text' ? [delta.text] : []));
  check(
    texts.every((text) => text.isWellFormed()),
    'A delta has half a character in it.',
  );
}

async function callIsStream({ make, request }: ContractSubject): Promise<void> {
  const streamed = fold(await read(await make(), request));
  const called = await (await make()).call(request);
  check(called instanceof Msg, '`call` should give a Msg.');
  checkSame(comparable(called), comparable(streamed), '`call`');
}

/** Types of deltas that are not part of the answer itself. */
const UNSHOWN: readonly ModelDelta['type'][] = ['usage', 'response_id', 'answered_by'];

async function finishesOnce({ make, request, expected }: ContractSubject): Promise<void> {
  const deltas = sinceReset(await read(await make(), request));
  const reasons = deltas.flatMap((delta) => (delta.type === 'finish' ? [delta.reason] : []));
  checkSame(reasons, [typeof expected === 'string' ? 'stop' : 'tool_calls'], 'the reasons to finish');
  const late = deltas.slice(deltas.findIndex((delta) => delta.type === 'finish') + 1);
  const types = late.map((delta) => delta.type).filter((type) => !UNSHOWN.includes(type));
  checkSame(types, [], 'deltas after the finish');
}

async function deltasAreJson({ make, request }: ContractSubject): Promise<void> {
  const deltas = await read(await make(), request);
  for (const [i, delta] of deltas.entries()) checkJson(delta, `Delta ${i}`);
}

async function usageIsFinite({ make, request }: ContractSubject): Promise<void> {
  for (const delta of await read(await make(), request)) {
    if (delta.type !== 'usage') continue;
    const { inputTokens, outputTokens, ...others } = delta.usage;
    for (const [key, value] of Object.entries({ inputTokens, outputTokens, ...others })) {
      check(Number.isFinite(value) && value >= 0, `usage.${key} should be a number of 0 or more.`);
    }
  }
}

async function answersAgain({ make, request, expected }: ContractSubject): Promise<void> {
  const model = await make();
  checkAnswer(await model.call(request), expected, 'the first answer');
  checkAnswer(await model.call(request), expected, 'the second answer');
}

async function answersAtOnce({ make, request, expected }: ContractSubject): Promise<void> {
  const model = await make();
  const streamed = async (): Promise<Msg> => fold(await read(model, request));
  const answers = await Promise.all([streamed(), streamed(), model.call(request)]);
  for (const answer of answers) checkAnswer(answer, expected, 'one of three answers at once');
}

/** Uses a mutable request, because a model may swallow the error of changing a frozen one. */
async function keepsRequest({ make, request, expected }: ContractSubject): Promise<void> {
  const open: ModelRequest = {
    ...structuredClone({ ...request, messages: [] }),
    messages: [...request.messages],
  };
  const before = JSON.stringify(open);
  checkAnswer(await (await make()).call(open), expected, 'the answer');
  check(JSON.stringify(open) === before, `The request was changed. It is now ${JSON.stringify(open)}.`);
  checkAnswer(await (await make()).call(request, frozen({})), expected, 'the answer to a frozen request');
}

async function takesUnknownFields({ make, request, expected }: ContractSubject): Promise<void> {
  const unknown = { unheardOf: { by: ['this', 'version'] } };
  const messages = request.messages.map((msg) =>
    Msg.from({
      ...msg.toJSON(),
      content: msg.getContentBlocks().map((block) => ({ ...block, ...unknown })),
      ...unknown,
    }),
  );
  const answer = await (
    await make()
  ).call({ ...request, messages, ...unknown }, { signal: undefined, ...unknown });
  checkAnswer(answer, expected, 'the answer');
}

async function obeysEarlyAbort({ make, request, workOf }: ContractSubject): Promise<void> {
  const model = await make();
  const before = workOf(model);
  const reason = new Error('The caller left before the call.');
  const signal = AbortSignal.abort(reason);
  const deltas: ModelDelta[] = [];
  await rejects(read(model, request, { signal }, deltas), reason, '`stream`');
  await rejects(model.call(request, { signal }), reason, '`call`');
  checkSame(deltas, [], 'deltas after the abort');
  checkSame(workOf(model) - before, 0, 'work done');
}

async function obeysAbortBetweenDeltas({ make, request }: ContractSubject): Promise<void> {
  const controller = new AbortController();
  const reason = new Error('The caller left between two deltas.');
  const { signal } = controller;
  const model = await make();
  const reading = (async () => {
    for await (const _delta of model.stream(request, { signal })) controller.abort(reason);
  })();
  const thrown = await thrownBy(reading, '`stream`');
  check(thrown === reason, `\`stream\` should reject with the reason, not with ${String(thrown)}.`);
}

async function survivesBeingLeft({ make, request, expected }: ContractSubject): Promise<void> {
  const model = await make();
  let count = 0;
  for await (const _delta of model.stream(request)) {
    count++;
    break;
  }
  checkSame(count, 1, 'deltas before it was left');
  checkAnswer(await model.call(request), expected, 'the next answer');
}

async function callsAreWhole({ make, request, expected }: ContractSubject): Promise<void> {
  const open = new Set<number>();
  const ids: string[] = [];
  let ended = 0;
  for (const delta of sinceReset(await read(await make(), request))) {
    if (delta.type === 'block' && delta.block.type === 'tool_use') ended++;
    if (delta.type === 'tool_use_start') {
      check(Number.isInteger(delta.index), 'The index of a tool call should be a whole number.');
      check(!open.has(delta.index), `Tool call ${delta.index} started twice.`);
      open.add(delta.index);
      if (delta.id !== undefined) ids.push(delta.id);
    }
    if (delta.type === 'tool_input')
      check(open.has(delta.index), `Input for tool call ${delta.index}, which is not open.`);
    if (delta.type === 'tool_use_end') {
      check(open.delete(delta.index), `Tool call ${delta.index} ended, but is not open.`);
      ended++;
    }
  }
  checkSame([...open], [], 'tool calls that never ended');
  checkSame(ended, expected.length, 'tool calls that ended');
  checkSame([...new Set(ids)], ids, 'ids of tool calls');
}

async function failsAtOnce({ make, request }: ContractSubject): Promise<void> {
  const deltas: ModelDelta[] = [];
  await checkFailures(await make(), request, deltas);
  checkSame(
    deltas.filter(({ type }) => !UNSHOWN.includes(type) && type !== 'reset'),
    [],
    'deltas before the failure',
  );
}

async function failsInTheMiddle({ make, request }: ContractSubject): Promise<void> {
  const deltas: ModelDelta[] = [];
  await checkFailures(await make(), request, deltas);
  check(
    deltas.some((delta) => delta.type === 'text' && delta.text !== ''),
    'There was no content before the failure.',
  );
  check(!sinceReset(deltas).some(({ type }) => type === 'finish'), 'A broken answer reports a finish.');
}

/** Checks that `stream` and `call` fail with the same kind of error, also repeatedly. */
async function checkFailures(
  model: ChatModelBase,
  request: ModelRequest,
  deltas: ModelDelta[],
): Promise<void> {
  const errors = [
    await thrownBy(read(model, request, {}, deltas), '`stream`'),
    await thrownBy(model.call(request), '`call`'),
    await thrownBy(model.call(request), 'the second `call`'),
  ];
  const kinds = errors.map(kindOf);
  checkSame(kinds, [kinds[0], kinds[0], kinds[0]], 'kinds of errors');
}

async function keepsSecret({ make, request, secret = '' }: ContractSubject): Promise<void> {
  const error = await thrownBy((await make()).call(request), '`call`');
  const texts = [String(error), JSON.stringify(error), ...textsIn(error)];
  check(!texts.some((text) => text.includes(secret)), 'The secret is in the error.');
}

const KINDS: Readonly<Record<ModelErrorKind, true>> = {
  auth: true,
  rate_limit: true,
  overloaded: true,
  context_overflow: true,
  content_filter: true,
  bad_request: true,
  network: true,
  timeout: true,
  malformed: true,
};

/** @throws Error unless the error is a ModelError. */
function kindOf(error: unknown): string {
  check(
    TroupeError.isInstance(error) && error.message !== '',
    `It should fail with a ModelError, not with ${String(error)}.`,
  );
  const { kind, isRetryable } = error as { kind?: unknown; isRetryable?: unknown };
  check(
    typeof kind === 'string' && Object.hasOwn(KINDS, kind) && typeof isRetryable === 'boolean',
    `The error should have a \`kind\` of ModelError and \`isRetryable\`, but is ${String(error)}.`,
  );
  return kind;
}

/** Reads a stream to its end, into `deltas`. */
async function read(
  model: ChatModelBase,
  request: ModelRequest,
  options?: ModelCallOptions,
  deltas: ModelDelta[] = [],
): Promise<readonly ModelDelta[]> {
  for await (const delta of model.stream(request, options)) deltas.push(delta);
  return deltas;
}

function fold(deltas: readonly ModelDelta[]): Msg {
  const draft = new MsgDraft('assistant');
  for (const delta of deltas) draft.add(delta);
  return draft.finish();
}

/** Deltas after the last reset, which discards the earlier ones. */
function sinceReset(deltas: readonly ModelDelta[]): readonly ModelDelta[] {
  return deltas.slice(deltas.findLastIndex((delta) => delta.type === 'reset') + 1);
}

function checkAnswer(msg: Msg, expected: ContractSubject['expected'], what: string): void {
  const calls = msg.getContentBlocks('tool_use').map(({ name, input }) => ({ name, input }));
  if (typeof expected === 'string') {
    checkSame(msg.getTextContent(''), expected, `The text of ${what}`);
    checkSame(calls, [], `The tool calls of ${what}`);
  } else checkSame(calls, expected, `The tool calls of ${what}`);
}

/** Message without the parts that differ in every answer. */
function comparable(msg: Msg): object {
  const { name, role, metadata, usage, finishReason } = msg;
  const { seconds: _seconds, ...otherUsage } = usage ?? {};
  const content = msg.getContentBlocks().map((block) => ({ ...block, ...('id' in block && { id: '' }) }));
  return { name, role, content, metadata, finishReason, usage: otherUsage };
}

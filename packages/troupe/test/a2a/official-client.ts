// A program with the official SDK's client. It talks to the agent at an address, and reports to its parent
// process.

import { Role, TaskState, type Message, type Part, type Task } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';

const [, , url = ''] = process.argv;
const client = await new ClientFactory().createFromUrl(url);

const part = (content: Part['content']): Part => ({
  content,
  mediaType: '',
  filename: '',
  metadata: undefined,
});

function request(parts: readonly Part[], ids: Partial<Message> = {}) {
  const message: Message = {
    messageId: crypto.randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [...parts],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...ids,
  };
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

const say = (value: string, ids?: Partial<Message>) => request([part({ $case: 'text', value })], ids);
const textOf = (parts: readonly Part[] = []): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const answerIn = (task: Task): string => textOf(task.artifacts.flatMap(({ parts }) => parts));

// 1. A complete answer.
const whole = (await client.sendMessage(say('Say hello'))) as Task;

// 2. A streamed answer.
const streamed: string[] = [];
for await (const { payload } of client.sendMessageStream(
  say('Say it again', { contextId: whole.contextId }),
)) {
  if (payload?.$case === 'artifactUpdate') streamed.push(textOf(payload.value.artifact?.parts));
  else if (payload?.$case === 'statusUpdate')
    streamed.push(TaskState[payload.value.status?.state ?? -1] ?? '');
  else streamed.push(payload?.$case ?? 'nothing');
}

// 3. A task that waits for a decision.
const asked = (await client.sendMessage(say('pay'))) as Task;
const data = asked.status?.message?.parts.find(({ content }) => content?.$case === 'data')?.content
  ?.value as {
  pending: { id: string; call: { name: string } }[];
};
const ids = { taskId: asked.id, contextId: asked.contextId };
const words = (await client.sendMessage(say('yes', ids))) as Task;
const decisions = data.pending.map(({ id }) => ({ id, verdict: 'allow' }));
const paid = (await client.sendMessage(
  request([part({ $case: 'data', value: { decisions } })], ids),
)) as Task;

// The same as streams.
const again: string[] = [];
let waiting: { taskId: string; pending: { id: string }[] } | undefined;
for await (const { payload } of client.sendMessageStream(say('pay'))) {
  if (payload?.$case !== 'statusUpdate') continue;
  const { taskId, status } = payload.value;
  const found = status?.message?.parts.find(({ content }) => content?.$case === 'data')?.content?.value;
  if (found !== undefined) {
    again.push(TaskState[status?.state ?? -1] ?? '');
    waiting = { taskId, ...(found as { pending: { id: string }[] }) };
  }
}
const allow = waiting?.pending.map(({ id }) => ({ id, verdict: 'allow' }));
const goOn = request([part({ $case: 'data', value: { decisions: allow } })], {
  taskId: waiting?.taskId ?? '',
});
let paidText = '';
for await (const { payload } of client.sendMessageStream(goOn)) {
  if (payload?.$case === 'artifactUpdate') paidText += textOf(payload.value.artifact?.parts);
  const state = payload?.$case === 'statusUpdate' ? payload.value.status?.state : undefined;
  if (state === TaskState.TASK_STATE_COMPLETED) again.push(TaskState[state] ?? '');
}

// 4. A task that is abandoned, resubscribed, and canceled.
let canceled: Task | undefined;
let left = '';
for await (const { payload } of client.sendMessageStream(say('hang'))) {
  if (payload?.$case !== 'artifactUpdate') continue;
  left = payload.value.taskId;
  break;
}
const resubscribed: string[] = [];
for await (const { payload } of client.resubscribeTask({ tenant: '', id: left })) {
  if (payload?.$case === 'statusUpdate')
    resubscribed.push(TaskState[payload.value.status?.state ?? -1] ?? '');
  else resubscribed.push(payload?.$case ?? 'nothing');
  if (payload?.$case === 'task')
    canceled = await client.cancelTask({ tenant: '', id: left, metadata: undefined });
}

// 5. An unknown task.
const nobody = await client
  .getTask({ tenant: '', id: 'nobody' })
  .catch((error: unknown) => (error as Error).name);

process.send?.({
  whole: [TaskState[whole.status?.state ?? -1], answerIn(whole)],
  streamed: [
    streamed[0],
    streamed
      .slice(1)
      .filter((one) => !one.startsWith('TASK_'))
      .join(''),
    streamed.at(-1),
  ],
  asked: [TaskState[asked.status?.state ?? -1], data.pending[0]?.call.name],
  words: TaskState[words.status?.state ?? -1],
  paid: [TaskState[paid.status?.state ?? -1], answerIn(paid)],
  again: [...again, paidText],
  resubscribed,
  canceled: TaskState[canceled?.status?.state ?? -1],
  nobody,
});
process.disconnect();

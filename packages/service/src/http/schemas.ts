import type { JsonSchema } from 'troupe';

const TEXT: JsonSchema = { type: 'string' };
/** Ids that callers choose: short, printable, and no path. */
export const ID: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:@|-]*$',
};
/** A title: one line. */
const TITLE: JsonSchema = { type: 'string', maxLength: 500, pattern: '^[^\\u0000-\\u001f]*$' };
const TIME: JsonSchema = { type: 'integer', description: 'Milliseconds since 1970.' };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };

function object(properties: JsonSchema, required: readonly string[] = [], more: JsonSchema = {}): JsonSchema {
  return { type: 'object', properties, required: [...required], ...more };
}

export function listOf(item: JsonSchema): JsonSchema {
  return object(
    {
      data: { type: 'array', items: item },
      next: { type: 'string', description: 'Cursor of the next page.' },
    },
    ['data'],
  );
}

/** A user message: text, or blocks. */
const INPUT_MSG: JsonSchema = {
  anyOf: [
    { type: 'string', minLength: 1 },
    object(
      {
        id: ID,
        name: { type: 'string', minLength: 1, maxLength: 128 },
        content: { anyOf: [TEXT, { type: 'array', items: { type: 'object' }, maxItems: 100 }] },
      },
      ['content'],
      { additionalProperties: false },
    ),
  ],
};

export const INPUT: JsonSchema = {
  anyOf: [INPUT_MSG, { type: 'array', items: INPUT_MSG, minItems: 1, maxItems: 100 }],
  description: 'A text, a user message with blocks, or a list of them.',
};

export const DECISION: JsonSchema = object(
  {
    id: TEXT,
    verdict: { enum: ['allow', 'deny', 'answer', 'result'] },
    input: { type: 'object' },
    scope: { enum: ['once', 'run'] },
    reason: { type: 'string', maxLength: 10_000 },
    answer: {},
    output: {},
    status: { enum: ['ok', 'error', 'denied', 'interrupted', 'unavailable'] },
  },
  ['id', 'verdict'],
  { additionalProperties: false },
);

export const NEW_SESSION: JsonSchema = object({ agent: TEXT, id: ID, title: TITLE }, ['agent'], {
  additionalProperties: false,
});

export const NEW_RUN: JsonSchema = object(
  {
    input: INPUT,
    decisions: { type: 'array', items: DECISION, minItems: 1, maxItems: 100 },
    onBusy: { enum: ['reject', 'queue', 'interrupt', 'steer'] },
    closePending: { type: 'boolean', description: 'Ends pending tool calls when new messages come.' },
  },
  [],
  { additionalProperties: false, anyOf: [{ required: ['input'] }, { required: ['decisions'] }] },
);

export const MSGS: JsonSchema = object({ input: INPUT }, ['input'], { additionalProperties: false });
export const INTERRUPT: JsonSchema = object({ input: INPUT }, [], { additionalProperties: false });
export const BRANCH: JsonSchema = object({ id: ID, title: TITLE }, [], {
  additionalProperties: false,
});

export const FORK: JsonSchema = object(
  {
    keepSteps: { type: 'integer', minimum: 0, description: 'Number of steps that are kept. Default: all.' },
    session: ID,
    title: TITLE,
  },
  [],
  { additionalProperties: false },
);
export const STEP: JsonSchema = object({ n: COUNT, key: TEXT, kind: TEXT }, ['n', 'key', 'kind']);

export const AGENT: JsonSchema = object({ name: TEXT, description: TEXT, onBusy: TEXT }, ['name', 'onBusy']);
export const SESSION: JsonSchema = object(
  { id: TEXT, agent: TEXT, title: TEXT, createdAt: TIME, updatedAt: TIME, activeRun: TEXT },
  ['id', 'agent', 'title', 'createdAt', 'updatedAt'],
);
export const MSG: JsonSchema = object({ id: TEXT, name: TEXT, role: TEXT, content: {} }, [
  'id',
  'name',
  'role',
  'content',
]);
export const PENDING: JsonSchema = object(
  {
    id: TEXT,
    kind: { enum: ['approval', 'external', 'question'] },
    agentPath: { type: 'array', items: TEXT },
    call: { type: 'object' },
  },
  ['id', 'kind', 'agentPath', 'call'],
);
export const RUN: JsonSchema = object(
  {
    id: TEXT,
    session: TEXT,
    agent: TEXT,
    status: { enum: ['queued', 'running', 'finished', 'suspended', 'interrupted', 'failed'] },
    attempt: COUNT,
    createdAt: TIME,
    startedAt: TIME,
    endedAt: TIME,
    msg: MSG,
    error: object({ message: TEXT, code: TEXT }, ['message']),
    pending: { type: 'array', items: PENDING },
    usage: { type: 'object' },
    lastEvent: COUNT,
    forkedFrom: TEXT,
  },
  ['id', 'session', 'agent', 'status', 'attempt', 'createdAt', 'lastEvent'],
);
export const DONE: JsonSchema = object({ done: { type: 'boolean' } }, ['done']);
export const PROBLEM: JsonSchema = object(
  { type: TEXT, title: TEXT, status: COUNT, detail: TEXT, code: TEXT },
  ['title', 'status', 'code'],
);
export const LIMIT: JsonSchema = { type: 'string', pattern: '^[1-9][0-9]{0,2}$' };
export const CURSOR: JsonSchema = { type: 'string', maxLength: 1000 };
export const EVENT_NUMBER: JsonSchema = { type: 'string', pattern: '^[0-9]{1,15}$' };

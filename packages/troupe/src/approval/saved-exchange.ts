import { LoopControl } from '../agent/turn/loop-control.ts';
import { Spending } from '../agent/turn/spending.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import type { StateSource } from '../state/state-module.ts';
import { copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { OpenExchange } from './open-exchange.ts';

const OUTCOME_UNKNOWN =
  'The call was started, and then the program ended: its outcome is unknown. It may have taken effect. Check before you call it again.';

/** The open exchange of an agent as part of its saved state. The keys are those of earlier versions, and stay. */
export const OPEN_EXCHANGE_STATE = {
  toJson: (open: OpenExchange | undefined): JsonValue => (open === undefined ? null : saved(open)),
  /**
   * Tool calls that were started get a result with an unknown outcome. Approvals count only if the source accepts grants:
   * otherwise tool calls that were approved are asked about again.
   * @throws TypeError if the JSON is not readable
   */
  fromJson: (json: JsonValue, source: StateSource): OpenExchange | undefined =>
    json === null ? undefined : restored(json, source),
  grants: (open: OpenExchange | undefined): boolean => open?.hasGrants ?? false,
};

function saved(open: OpenExchange): JsonObject {
  const { modelMsg, calls } = open.exchange;
  const controls = Array.from(open.controls, ([id, control]) => [id, control.toJSON()] as const);
  return copyJsonObject(
    {
      thought: modelMsg.toJSON(),
      answers: calls.map(({ id }) => open.exchange.resultOf(id)).filter((one) => one !== undefined),
      started: [...open.started],
      standings: open.statuses.toJSON(),
      grantedTools: [...open.grantedTools],
      later: open.postponed.map((msg) => msg.toJSON()),
      requestIds: [...open.requestIds],
      saidIds: [...open.addedIds],
      owner: open.owner,
      wantsShape: open.wantsStructuredOutput,
      spent: open.spending.toJSON(),
      iteration: open.iteration,
      isAskedThrough: open.isDecidedByOwner,
      ...(controls.length > 0 && { controls: Object.fromEntries(controls) }),
    },
    'the open exchange',
  );
}

function restored(json: JsonValue, { acceptsGrants }: StateSource): OpenExchange {
  if (!isJsonObject(json)) throw new TypeError('it is no object');
  const { iteration = 0, controls = {} } = json;
  if (!Number.isSafeInteger(iteration) || Number(iteration) < 0)
    throw new TypeError('iteration must be a whole number');
  const modelMsg = Msg.from(json['thought']);
  if (modelMsg.role !== 'assistant') throw new TypeError('its model message has not the role assistant');
  const granted = strings(json, 'grantedTools');
  const open = new OpenExchange(modelMsg, {
    grantedTools: new Set(acceptsGrants ? granted : []),
    requestIds: new Set(strings({ requestIds: [], ...json }, 'requestIds')), // missing in states of older versions
    addedIds: new Set(strings({ saidIds: [], ...json }, 'saidIds')),
    owner: strings(json, 'owner'),
    wantsStructuredOutput: json['wantsShape'] === true,
  });
  open.spending = new Spending(json['spent']);
  open.iteration = Number(iteration);
  for (const answer of list(json, 'answers')) open.addResult(answer as JsonValue & ToolResultBlock);
  open.setTold();
  for (const id of strings(json, 'started')) open.started.add(id);
  for (const msg of list(json, 'later')) open.postponed.push(Msg.from(msg));
  open.statuses.load(json['standings'], (id) => open.isUnfinished(id), acceptsGrants);
  open.isDecidedByOwner = json['isAskedThrough'] === true;
  if (!isJsonObject(controls)) throw new TypeError('controls must be an object');
  for (const [id, control] of Object.entries(controls)) open.controls.set(id, LoopControl.from(control));
  closeStarted(open);
  return open;
}

/** A tool call that was started before the process ended is not run again. */
function closeStarted(open: OpenExchange): void {
  for (const { id, name } of open.toRun) {
    if (open.started.has(id))
      open.addResult({ type: 'tool_result', id, name, output: OUTCOME_UNKNOWN, status: 'interrupted' });
  }
}

function list(json: JsonObject, key: string): readonly JsonValue[] {
  const value = json[key];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw new TypeError(`${key} must be a list`);
}

function strings(json: JsonObject, key: string): readonly string[] {
  const found = list(json, key).filter((one) => typeof one === 'string');
  if (found.length === list(json, key).length) return found;
  throw new TypeError(`${key} must be a list of strings`);
}

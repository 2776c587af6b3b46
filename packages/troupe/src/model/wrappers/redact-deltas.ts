import type { ModelDelta } from '../../message/model-delta.ts';
import type { JsonObject } from '../../util/json.ts';
import type { Redactor } from './redactor.ts';
import type { TimedDelta } from './tape.ts';

/** Where deltas of a type carry pieces of a longer text. */
const PIECES = { text: 'text', thinking: 'thinking', tool_input: 'json' } as const;

/** Places of deltas whose pieces make one text. */
type Run = number[];

/**
 * The deltas as JSON without secrets. A secret may come in pieces, so pieces are read as the one text that they are;
 * where a secret is found, that text is left in one piece.
 */
export function redactDeltas(
  deltas: readonly TimedDelta[],
  redactor: Redactor,
): (readonly [number, JsonObject])[] {
  const pieces = new Map<number, string>();
  for (const run of runsOf(deltas)) {
    const texts = run.map((place) => pieceOf(deltas[place]?.[1]));
    const whole = texts.join('');
    const safe = redactor.text(whole);
    for (const [i, place] of run.entries()) {
      pieces.set(place, safe === whole ? (texts[i] ?? '') : i === 0 ? safe : '');
    }
  }
  return deltas.flatMap(([ms, delta], place) => {
    const piece = pieces.get(place);
    const json = delta as JsonObject & ModelDelta;
    if (piece === undefined) return [[ms, redactor.object(json)] as const];
    if (piece === '' && pieceOf(delta) !== '' && !('providerMeta' in delta)) return []; // went into the first
    const field = PIECES[delta.type as keyof typeof PIECES];
    const { type, [field]: _piece, ...others } = json;
    return [[ms, { type, ...redactor.object(others), [field]: piece }] as const];
  });
}

function pieceOf(delta: ModelDelta | undefined): string {
  if (delta?.type === 'text') return delta.text;
  if (delta?.type === 'thinking') return delta.thinking;
  return delta?.type === 'tool_input' ? delta.json : '';
}

function runsOf(deltas: readonly TimedDelta[]): Run[] {
  const runs: Run[] = [];
  const open = new Map<string, Run>();
  for (const [place, [, delta]] of deltas.entries()) {
    for (const channel of open.keys()) if (ends(delta, channel)) open.delete(channel);
    if (!(delta.type in PIECES)) continue;
    const channel = channelOf(delta);
    const run = open.get(channel);
    if (run !== undefined) run.push(place);
    else {
      const started = [place];
      open.set(channel, started);
      runs.push(started);
    }
  }
  return runs;
}

/** What a piece goes on: the text, the thinking, or the arguments of one call. */
function channelOf(delta: ModelDelta): string {
  return 'index' in delta ? `call ${delta.index}` : delta.type;
}

/** Whether a text is over when this delta comes. Text and thinking end where anything else begins. */
function ends(delta: ModelDelta, channel: string): boolean {
  switch (delta.type) {
    case 'usage':
    case 'finish':
    case 'response_id':
      return false;
    case 'reset':
      return true;
    case 'tool_use_start':
    case 'tool_use_end':
      return channel === channelOf(delta) || !channel.startsWith('call ');
    default:
      return channel !== channelOf(delta) && !channel.startsWith('call ');
  }
}

import { Bot, ChevronDown, ChevronRight } from 'lucide-react';
import { memo } from 'react';
import type { JsonObject, ToolResultBlock } from 'troupe';

import { useText } from '../i18n/use-text.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import { Markdown } from '../markdown/markdown.tsx';
import { formatBytes, formatMs } from '../parts/format.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { showWaiting } from '../waiting/shown-waiting.ts';
import { agentColour } from './agent-colour.ts';
import { Media } from './media.tsx';
import { argumentsInLine } from './arguments-line.ts';
import type { ToolRow, ToolState, ToolsRow } from './rows.ts';

const SIGNS: Readonly<Record<ToolState, string>> = {
  writing: '…',
  running: '●',
  waiting: '◆',
  ok: '✓',
  error: '✕',
  interrupted: '■',
  denied: '⊘',
  unavailable: '✕',
  open: '○',
};

/** Output up to this length is shown; the rest is a download. */
const MAX_OUTPUT = 200_000;

interface ToolCallProps {
  readonly row: ToolRow;
  readonly onToggle: (key: string, isOpen: boolean) => void;
  /** False while looking back: nothing can be decided there. */
  readonly canDecide: boolean;
}

/** A tool call as one line, which opens to its arguments, its output and the approval that it waits for. */
export const ToolCall = memo(function ToolCall({ row, onToggle, canDecide }: ToolCallProps) {
  const t = useText();
  const { call, result, state, isOpen, subAgent, waiting, times } = row;
  const name = call?.name ?? result?.name ?? '';
  const input = waiting?.editedInput ?? call?.input;
  const isAsking = waiting !== undefined && (waiting.state === 'waiting' || waiting.state === 'sent');
  return (
    <div className="tool" data-state={state} data-open={isOpen} {...agentColour(row.colour)}>
      <button
        type="button"
        className="fold tool-line"
        aria-expanded={isOpen}
        onClick={() => onToggle(row.key, !isOpen)}
      >
        {isOpen ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
        <span className={`tool-state state-${state}`} title={t.toolState[state]}>
          <span aria-hidden="true">{SIGNS[state]}</span>
          <span className="hidden">{t.toolState[state]}</span>
        </span>
        <span className="tool-name">{name}</span>
        {subAgent !== undefined && (
          <span className="sub-agent" {...agentColour(subAgent.colour)}>
            <Bot size={13} aria-hidden /> {subAgent.name} · {t.messages(subAgent.messages)}
          </span>
        )}
        {input !== undefined && <span className="tool-args">{argumentsInLine(input)}</span>}
        <span className="meta">
          {state !== 'ok' && <span className={`state-${state}`}>{t.toolState[state]}</span>}
          {times?.durationMs !== undefined && <span>{formatMs(times.durationMs)}</span>}
        </span>
      </button>
      {isOpen && (
        <div className="tool-body">
          {isAsking && canDecide ? (
            <>
              {input !== undefined && <ToolInput input={input} raw={call?.rawInput} />}
              <button type="button" className="link decide" onClick={() => showWaiting(waiting.id)}>
                ◆ {t.decideBelow}
              </button>
            </>
          ) : (
            <>
              {waiting?.editedInput !== undefined && <p className="tool-note">{t.argumentsEdited}</p>}
              {input !== undefined && <ToolInput input={input} raw={call?.rawInput} />}
            </>
          )}
          {result !== undefined && <ToolOutput result={result} />}
        </div>
      )}
    </div>
  );
});

function ToolInput({ input, raw }: { input: JsonObject; raw: string | undefined }) {
  const t = useText();
  if (raw !== undefined) return <CodeBlock code={raw} language="" isOpen />;
  if (Object.keys(input).length === 0) return <p className="tool-note">{t.noArguments}</p>;
  return <JsonTree value={input} />;
}

function ToolOutput({ result }: { result: ToolResultBlock }) {
  const t = useText();
  const blocks =
    typeof result.output === 'string' ? [{ type: 'text' as const, text: result.output }] : result.output;
  return (
    <div className="tool-output" data-status={result.status}>
      <span className="label">{t.result}</span>
      {blocks.map((block, index) =>
        block.type === 'text' ? (
          <OutputText key={index} text={block.text} />
        ) : (
          <Media key={index} block={block} />
        ),
      )}
    </div>
  );
}

/** Text of a tool: JSON is formatted, Markdown only where it is plainly Markdown; everything else as it is. */
function OutputText({ text }: { text: string }) {
  const t = useText();
  if (text.length > MAX_OUTPUT)
    return (
      <>
        <pre className="output" tabIndex={0}>
          {text.slice(0, MAX_OUTPUT)}
        </pre>
        <p className="tool-note">
          {t.cutOutput(formatBytes(MAX_OUTPUT), formatBytes(text.length))}{' '}
          <a href={URL.createObjectURL(new Blob([text], { type: 'text/plain' }))} download="output.txt">
            {t.download}
          </a>
        </p>
      </>
    );
  const json = parsedJson(text);
  if (json !== undefined) return <JsonTree value={json} />;
  if (/^(?:#{1,4} |\|.+\|\s*$|```)/m.test(text)) return <Markdown text={text} isPartial={false} />;
  return (
    <pre className="output" tabIndex={0}>
      {text === '' ? t.emptyOutput : text}
    </pre>
  );
}

function parsedJson(text: string): JsonObject | JsonObject[] | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}

/** Finished tool calls of a message in one line. */
export const ToolGroup = memo(function ToolGroup({
  row,
  onToggle,
}: {
  row: ToolsRow;
  onToggle: ToolCallProps['onToggle'];
}) {
  const t = useText();
  return (
    <div className="tool" data-state="ok" {...agentColour(row.colour)}>
      <button
        type="button"
        className="fold tool-line"
        aria-expanded={row.isOpen}
        onClick={() => onToggle(row.key, !row.isOpen)}
      >
        {row.isOpen ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
        <span className="tool-state state-ok" aria-hidden="true">
          ✓
        </span>
        <span className="tool-name">{t.toolCalls(row.names.length)}</span>
        <span className="tool-args">{[...new Set(row.names)].join(', ')}</span>
      </button>
    </div>
  );
});

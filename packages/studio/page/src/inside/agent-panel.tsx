import { useQuery } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ContentBlock } from 'troupe';

import { encoded } from '../encoded.ts';
import type {
  AgentInside,
  CompressionInside,
  HookInside,
  MemoryInside,
  MemoryMsg,
  MsgJson,
  ToolGroupInside,
} from '../../../src/protocol.ts';
import { Block } from '../conversation/message.tsx';
import { argumentsInLine } from '../conversation/arguments-line.ts';
import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { formatClock, formatCount } from '../parts/format.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { get, RequestError } from '../server/request.ts';
import { settings } from '../settings.ts';
import { Budgets } from './budgets.tsx';
import type { InspectorProps } from './inspector.tsx';

type AgentPart = 'memory' | 'tools' | 'state';

/** Reads one agent of the run, now or at the entry that is looked at. */
export function useAgentInside({ run, detail, row, at, version }: InspectorProps): {
  readonly agentId: string | undefined;
  readonly setAgentId: (id: string) => void;
  readonly inside: ReturnType<typeof useQuery<AgentInside>>;
  readonly refresh: () => void;
} {
  const [wanted, setAgentId] = useState<string>();
  const path = row?.kind === 'message' ? row.msg.agentPath : row?.kind === 'tool' ? row.path : [];
  const ofRow = detail.agents.find((agent) => agent.path.join() === path.join())?.id;
  const root = detail.agents.find((agent) => agent.path.length === 1) ?? detail.agents[0];
  const agentId = wanted ?? ofRow ?? root?.id;
  const [isForced, setForced] = useState(false);
  const inside = useQuery({
    queryKey: ['inside', run.id, agentId, at, isForced],
    queryFn: async () =>
      get<AgentInside>(`runs/${encoded(run.id)}/agents/${encoded(agentId ?? '')}`, {
        at,
        refresh: isForced && at === undefined,
      }),
    enabled: agentId !== undefined,
    retry: (count, error) => count < 1 && !isUnread(error),
    placeholderData: (before) => before,
  });
  const { refetch } = inside;
  useEffect(() => {
    const timer = window.setTimeout(() => void refetch(), 900);
    return () => window.clearTimeout(timer);
  }, [version, refetch]);
  const refresh = (): void => {
    setForced(true);
    if (isForced) void refetch();
  };
  return { agentId, setAgentId, inside, refresh };
}

/** Whether the program has not told anything about the inside of an agent so far. */
function isUnread(error: Error | null): boolean {
  return error instanceof RequestError && error.code === 'not_found';
}

/** Memory, tools or state of one agent. */
export function AgentPanel(props: InspectorProps & { part: AgentPart }) {
  const t = useText();
  const { detail, part, at } = props;
  const { language } = useStore(settings);
  const { agentId, setAgentId, inside, refresh } = useAgentInside(props);
  if (detail.agents.length === 0) return <Empty title={t.noAgents} />;
  return (
    <>
      <div className="prompt-head">
        <label>
          <span className="hidden">{t.agent}</span>
          <select value={agentId} onChange={(event) => setAgentId(event.target.value)}>
            {detail.agents.map((agent) => (
              <option key={agent.id} value={agent.id}>
                {agent.path.join(' › ')}
              </option>
            ))}
          </select>
        </label>
        {inside.data !== undefined && (
          <span className="sub">
            #{inside.data.seq} · {formatClock(inside.data.readAt, language)}
          </span>
        )}
        {at === undefined && (
          <button
            type="button"
            className="icon-button small"
            onClick={refresh}
            aria-label={t.readNow}
            title={t.readNow}
          >
            <RefreshCw size={13} aria-hidden />
          </button>
        )}
      </div>
      {isUnread(inside.error) && (
        <Empty title={t.notRead}>
          {at === undefined && (
            <button type="button" className="button small" onClick={refresh}>
              <RefreshCw size={13} aria-hidden /> {t.readNow}
            </button>
          )}
        </Empty>
      )}
      {inside.error !== null && !isUnread(inside.error) && inside.data === undefined && (
        <Failed error={inside.error} onRetry={() => void inside.refetch()} />
      )}
      {inside.data === undefined && inside.error === null && <Loading />}
      {inside.data !== undefined && <Parts inside={inside.data} part={part} />}
    </>
  );
}

function Parts({ inside, part }: { inside: AgentInside; part: AgentPart }) {
  const t = useText();
  return (
    <>
      {inside.leftOut.length > 0 && <p className="sub">{t.leftOut(inside.leftOut.join(', '))}</p>}
      {part === 'memory' &&
        (inside.memory === undefined ? <Empty title={t.noMemory} /> : <Memory memory={inside.memory} />)}
      {part === 'tools' && (
        <>
          <ToolGroups groups={inside.toolGroups ?? []} />
          {inside.budgets !== undefined && <Budgets budgets={inside.budgets} />}
          <Hooks hooks={inside.hooks} />
        </>
      )}
      {part === 'state' && (
        <>
          {inside.sysPrompt !== undefined && (
            <>
              <h3>{t.systemPrompt}</h3>
              <pre className="output" tabIndex={0}>
                {inside.sysPrompt}
              </pre>
            </>
          )}
          <h3>{t.stateTree}</h3>
          {inside.state === undefined ? (
            <p className="sub">{t.noState}</p>
          ) : (
            <JsonTree value={inside.state} />
          )}
        </>
      )}
    </>
  );
}

function Memory({ memory }: { memory: MemoryInside }) {
  const t = useText();
  const [view, setView] = useState<'working' | 'original' | 'offloaded'>('working');
  const tabs = [
    { key: 'working' as const, label: `${t.working} ${memory.working.length}` },
    ...(memory.original === undefined
      ? []
      : [{ key: 'original' as const, label: `${t.original} ${memory.original.length}` }]),
    ...(memory.offloaded === undefined
      ? []
      : [{ key: 'offloaded' as const, label: `${t.offloaded} ${memory.offloaded.length}` }]),
  ];
  const removed = new Set(memory.compressions.flatMap(({ removedIds }) => removedIds));
  return (
    <>
      <p className="sub">{memory.className}</p>
      {memory.compressions.length > 0 && <Compressions compressions={memory.compressions} />}
      <Tabs label={t.memory} tabs={tabs} chosen={view} onChoose={setView} className="small-tabs">
        {view === 'offloaded' ? (
          <ul className="memory">
            {memory.offloaded?.map(({ id, messages }) => (
              <li key={id}>
                <details>
                  <summary>
                    <span className="mono">{id}</span> · {t.messages(messages.length)}
                  </summary>
                  <MemoryList messages={messages.map((msg) => ({ msg, marks: [] }))} />
                </details>
              </li>
            ))}
          </ul>
        ) : (
          <MemoryList
            messages={(view === 'working' ? memory.working : memory.original) ?? []}
            removed={removed}
          />
        )}
      </Tabs>
    </>
  );
}

function Compressions({ compressions }: { compressions: readonly CompressionInside[] }) {
  const t = useText();
  const { language } = useStore(settings);
  return (
    <ul className="compressions">
      {compressions.map((one, index) => (
        <li key={index}>
          <strong>{one.strategy}</strong> {t.removedMessages(one.removedIds.length)}
          {one.tokensBefore !== undefined &&
            ` · ${formatCount(one.tokensBefore)} → ${one.tokensAfter === undefined ? '?' : formatCount(one.tokensAfter)}`}
          <span className="meta">{formatClock(one.at, language)}</span>
        </li>
      ))}
    </ul>
  );
}

function MemoryList({
  messages,
  removed,
}: {
  messages: readonly MemoryMsg[];
  removed?: ReadonlySet<string>;
}) {
  const t = useText();
  if (messages.length === 0) return <p className="sub">{t.emptyMemory}</p>;
  return (
    <ol className="memory">
      {messages.map(({ msg, marks }, index) => (
        <li key={`${msg.id}-${index}`} data-removed={removed?.has(msg.id)}>
          <details>
            <summary>
              <strong>{msg.name}</strong> {msg.role !== msg.name && <span className="sub">{msg.role}</span>}
              {marks.map((mark) => (
                <span key={mark} className="tag">
                  {mark}
                </span>
              ))}
              {removed?.has(msg.id) === true && <span className="tag">{t.compressedAway}</span>}
              <span className="part-line">{previewOf(msg)}</span>
            </summary>
            {blocksOf(msg).map((block, at) =>
              block.type === 'tool_use' || block.type === 'tool_result' ? (
                <JsonTree key={at} value={JSON.parse(JSON.stringify(block))} />
              ) : (
                <Block key={at} block={block} />
              ),
            )}
          </details>
        </li>
      ))}
    </ol>
  );
}

function blocksOf({ content }: MsgJson): readonly ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function previewOf(msg: MsgJson): string {
  const block = blocksOf(msg)[0];
  if (block === undefined) return '';
  if (block.type === 'text') return block.text.slice(0, 120);
  if (block.type === 'thinking') return block.thinking.slice(0, 120);
  if (block.type === 'tool_use') return `${block.name}(${argumentsInLine(block.input)})`;
  if (block.type === 'tool_result')
    return `→ ${typeof block.output === 'string' ? block.output.slice(0, 120) : block.name}`;
  return `[${block.type}]`;
}

function ToolGroups({ groups }: { groups: readonly ToolGroupInside[] }) {
  const t = useText();
  if (groups.length === 0) return <Empty title={t.noTools} />;
  return groups.map((group) => (
    <section key={group.name} className="tool-group" data-active={group.isActive}>
      <h3>
        {group.name}{' '}
        <span className={`tag ${group.isActive ? 'ok' : ''}`}>
          {group.isActive ? `✓ ${t.active}` : t.inactive}
        </span>
      </h3>
      {group.description !== '' && <p className="sub">{group.description}</p>}
      {group.tools.map((tool) => (
        <details key={tool.name} className="part">
          <summary>
            <span className="mono">{tool.name}</span>
            <span className="part-line">{tool.description}</span>
          </summary>
          <p>{tool.description}</p>
          <JsonTree value={tool.schema} depth={3} />
        </details>
      ))}
    </section>
  ));
}

function Hooks({ hooks }: { hooks: readonly HookInside[] }) {
  const t = useText();
  return (
    <section>
      <h3>{t.hooks}</h3>
      {hooks.length === 0 ? (
        <p className="sub">{t.noHooks}</p>
      ) : (
        <table className="plain">
          <tbody>
            {hooks.map((hook, index) => (
              <tr key={index}>
                <td className="mono">{hook.type}</td>
                <td>{hook.name}</td>
                <td className="sub">{t.hookLevel[hook.level]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

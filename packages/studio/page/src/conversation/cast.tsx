import type { AgentInfo, Waiting } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { keyOf, type CastMember } from '../live/tape-fold.ts';
import { changeSettings, settings } from '../settings.ts';
import { agentColour } from './agent-colour.ts';

interface CastProps {
  readonly cast: readonly CastMember[];
  readonly agents: readonly AgentInfo[];
  readonly waiting: readonly Waiting[];
  readonly chosen: string | undefined;
  readonly onChoose: (key: string | undefined) => void;
}

/** The agents of the run with their state, and the hubs in which they take part, as rooms. A click shows one agent alone. */
export function Cast({ cast, agents, waiting, chosen, onChoose }: CastProps) {
  const t = useText();
  const { showsThinking, showsTools } = useStore(settings);
  const hubs = new Map<string, { name: string; members: string[] }>();
  for (const { hubs: ids, hubNames, name } of agents) {
    for (const id of ids) {
      const hub = hubs.get(id) ?? { name: hubNames?.[id] ?? id, members: [] };
      hubs.set(id, { ...hub, members: [...hub.members, name] });
    }
  }
  return (
    <nav className="cast" aria-label={t.cast}>
      <h2 className="label">{t.cast}</h2>
      <ul>
        <li>
          <button type="button" aria-pressed={chosen === undefined} onClick={() => onChoose(undefined)}>
            {t.all}
          </button>
        </li>
        {cast.map((member) => {
          const count = waiting.filter(({ agentPath }) => keyOf(agentPath) === member.key).length;
          return (
            <li key={member.key} data-depth={Math.min(member.path.length - 1, 3)}>
              <button
                type="button"
                {...agentColour(member.colour)}
                aria-pressed={chosen === member.key}
                onClick={() => onChoose(chosen === member.key ? undefined : member.key)}
              >
                <span className="cast-bar" data-live={member.isRunning} aria-hidden="true" />
                <span className="cast-name">{member.path.at(-1)}</span>
                <State member={member} count={count} />
              </button>
            </li>
          );
        })}
      </ul>
      {hubs.size > 0 && (
        <>
          <h2 className="label">{t.hubs}</h2>
          <ul className="hubs">
            {[...hubs].map(([id, { name, members }]) => (
              <li key={id}>
                <strong>{name}</strong>
                <span className="sub">{members.join(', ')}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <h2 className="label cast-filter">{t.show}</h2>
      <div className="cast-filter">
        <label className="check">
          <input
            type="checkbox"
            checked={showsThinking}
            onChange={(event) => changeSettings({ showsThinking: event.target.checked })}
          />
          {t.thinking}
        </label>
        <label className="check">
          <input
            type="checkbox"
            checked={showsTools}
            onChange={(event) => changeSettings({ showsTools: event.target.checked })}
          />
          {t.tools}
        </label>
      </div>
    </nav>
  );
}

function State({ member, count }: { member: CastMember; count: number }) {
  const t = useText();
  if (count > 0)
    return (
      <span className="cast-state wait">
        ◆ {count}
        <span className="hidden"> {t.waitingWord}</span>
      </span>
    );
  if (member.isRunning)
    return (
      <span className="cast-state running">
        {member.doing === 'model' ? t.writes : (member.doing ?? t.works)}
      </span>
    );
  if (member.status === undefined) return null;
  const signs = { finished: '✓', suspended: '◆', interrupted: '■', aborted: '■', failed: '✕' } as const;
  return (
    <span
      className={`cast-state ${member.status === 'failed' ? 'bad' : ''}`}
      title={t.callStatus[member.status]}
    >
      <span aria-hidden="true">{signs[member.status]}</span>
      <span className="hidden">{t.callStatus[member.status]}</span>
    </span>
  );
}

import { useMutation } from '@tanstack/react-query';
import {
  Bot,
  ClipboardList,
  MessageCircleQuestion,
  MessageSquarePlus,
  MessageSquareText,
  OctagonPause,
  ShieldQuestion,
  TextCursorInput,
  Wrench,
  type LucideIcon,
} from 'lucide-react';

import type { OfferedAgent, StudioInfo, StudioRun, Suggestion } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { live } from '../live/live-client.ts';
import { useStore } from '../live/store.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { goTo } from '../route.ts';
import { messageOf, post } from '../server/request.ts';
import { settings } from '../settings.ts';
import { WaitingCard } from '../waiting/waiting-card.tsx';
import { useInfo, useRuns } from './queries.ts';
import { initLine } from './connect-programs.tsx';
import { RunList } from './run-list.tsx';

const RECENT = 20;

/** Signs of what a suggestion shows. */
const SIGNS: ReadonlyMap<Suggestion['shows'], LucideIcon> = new Map([
  ['streaming', MessageSquareText],
  ['tool', Wrench],
  ['approval', ShieldQuestion],
  ['interrupt', OctagonPause],
  ['sub_agent', Bot],
  ['plan', ClipboardList],
  ['question', MessageCircleQuestion],
  ['form', TextCursorInput],
]);

/** The first view: everything that needs a person, then what runs, then the last runs. */
export function Now() {
  const t = useText();
  const waiting = useStore(live.waiting);
  const info = useInfo();
  const runs = useRuns({ limit: RECENT });
  if (runs.error !== null) return <Failed error={runs.error} onRetry={() => void runs.refetch()} />;
  if (runs.data === undefined || info.data === undefined) return <Loading lines={8} />;
  const isBusy = ({ status }: StudioRun): boolean => status === 'running' || status === 'waiting';
  const running = runs.data.runs.filter(isBusy);
  const others = runs.data.runs.filter((run) => !isBusy(run));
  const { agents } = info.data;
  return (
    <div className="view now">
      <h1>{t.now}</h1>
      {waiting.length > 0 && (
        <section aria-labelledby="needs-you">
          <h2 id="needs-you">
            {t.needsYou} <span className="count">{waiting.length}</span>
          </h2>
          <div className="cards">
            {waiting.map((one) => (
              <WaitingCard key={one.id} waiting={one} hasRunLink />
            ))}
          </div>
        </section>
      )}
      {agents.length > 0 && (
        <section aria-labelledby="talk-to">
          <h2 id="talk-to">{t.talkTo}</h2>
          <ul className="offers">
            {agents.map((agent) => (
              <Offer key={agent.key} agent={agent} />
            ))}
          </ul>
        </section>
      )}
      {running.length > 0 && (
        <section aria-labelledby="running">
          <h2 id="running">{t.runningNow}</h2>
          <RunList label={t.runningNow} runs={running} />
        </section>
      )}
      {others.length > 0 && (
        <section aria-labelledby="recent">
          <h2 id="recent">{t.recent}</h2>
          <RunList label={t.recent} runs={others} />
        </section>
      )}
      {runs.data.runs.length === 0 && agents.length === 0 && <FirstStart info={info.data} />}
    </div>
  );
}

function Offer({ agent }: { agent: OfferedAgent }) {
  const t = useText();
  const { language } = useStore(settings);
  const start = useMutation({
    mutationFn: async (text?: string) => {
      const run = await post<StudioRun>('conversations', { agent: agent.key });
      goTo(['runs', run.id], { say: text });
    },
  });
  return (
    <li className="offer">
      <div className="offer-head">
        <strong>{agent.name}</strong>
        {agent.modelName !== undefined && <span className="tag">{agent.modelName}</span>}
        <button
          type="button"
          className="button primary"
          disabled={start.isPending}
          onClick={() => start.mutate(undefined)}
        >
          <MessageSquarePlus size={14} aria-hidden /> {t.startConversation}
        </button>
      </div>
      {agent.description !== '' && <p>{agent.description}</p>}
      {agent.suggestions.length > 0 && (
        <ul className="starters" aria-label={t.suggestions}>
          {agent.suggestions.map((suggestion) => {
            const Icon = SIGNS.get(suggestion.shows) ?? MessageSquareText;
            return (
              <li key={suggestion.text}>
                <button
                  type="button"
                  disabled={start.isPending}
                  onClick={() => start.mutate(suggestion.text)}
                >
                  <Icon size={18} aria-hidden />
                  <span className="starter-label">{suggestion.label[language]}</span>
                  <span className="starter-text">{suggestion.text}</span>
                </button>
              </li>
            );
          })}
        </ul>
      )}
      {start.error !== null && (
        <p role="alert" className="card-problem">
          ✕ {messageOf(start.error)}
        </p>
      )}
    </li>
  );
}

/** Nothing has connected yet: the lines to paste. */
export function FirstStart({ info }: { info: StudioInfo }) {
  const t = useText();
  const code = `import { init } from 'troupe';\n\n${initLine(info.connect)}`;
  return (
    <Empty title={t.nothingYet}>
      <p>{t.connectHow}</p>
      <figure className="code">
        <figcaption>
          <span>ts</span>
          <CopyButton text={code} />
        </figcaption>
        <pre tabIndex={0}>
          <code>{code}</code>
        </pre>
      </figure>
      <p className="listening">
        <span aria-hidden="true">●</span> {t.listening}
      </p>
    </Empty>
  );
}

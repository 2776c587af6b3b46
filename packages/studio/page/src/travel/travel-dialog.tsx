import { useMutation, useQuery } from '@tanstack/react-query';
import { GitBranch, History } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ContentBlock } from 'troupe';

import { encoded } from '../encoded.ts';
import type {
  BranchRequest,
  OfferedAgent,
  ReplayReport,
  StudioRun,
  TurnInfo,
} from '../../../src/protocol.ts';
import { PromptDiffView, TextDiff } from '../inside/diff-view.tsx';
import { useText } from '../i18n/use-text.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { goTo } from '../route.ts';
import { get, messageOf, post } from '../server/request.ts';

interface TravelDialogProps {
  readonly run: StudioRun;
  readonly agent: OfferedAgent | undefined;
  readonly verb: 'branch' | 'replay';
  readonly onClose: () => void;
}

/** Replays a turn from the tape, or branches from it. The two verbs never share a button. */
export function TravelDialog({ run, agent, verb, onClose }: TravelDialogProps) {
  const t = useText();
  const [callId, setCallId] = useState<string>();
  const turns = useQuery({
    queryKey: ['turns', run.id],
    queryFn: async () => get<{ turns: readonly TurnInfo[] }>(`runs/${encoded(run.id)}/turns`),
    staleTime: 0,
  });
  const usable =
    turns.data?.turns.filter((turn) => (verb === 'branch' ? turn.canBranch : turn.canReplay)) ?? [];
  const turn =
    usable.find((one) => one.callId === callId) ??
    usable.findLast((one) => inputOf(one) !== '') ??
    usable.at(-1);
  return (
    <Dialog title={verb === 'branch' ? t.branchFrom : t.replayTape} onClose={onClose} className="travel">
      <p className={`verb verb-${verb}`}>
        {verb === 'branch' ? <GitBranch size={15} aria-hidden /> : <History size={15} aria-hidden />}
        {verb === 'branch' ? t.branchMeans : t.replayMeans}
      </p>
      {turns.error !== null && <Failed error={turns.error} onRetry={() => void turns.refetch()} />}
      {turns.data === undefined && turns.error === null && <Loading />}
      {turns.data !== undefined && turn === undefined && <Empty title={t.noTurns} />}
      {turn !== undefined && (
        <>
          <label className="field">
            <span>{t.turn}</span>
            <select value={turn.callId} onChange={(event) => setCallId(event.target.value)}>
              {usable.map((one) => (
                <option key={one.callId} value={one.callId}>
                  {`#${one.seq} · ${inputOf(one).slice(0, 80) || t.decisionTurn}`}
                </option>
              ))}
            </select>
          </label>
          {verb === 'branch' ? (
            <Branch key={turn.callId} run={run} agent={agent} turn={turn} onClose={onClose} />
          ) : (
            <Replay key={turn.callId} run={run} turn={turn} />
          )}
        </>
      )}
    </Dialog>
  );
}

function inputOf(turn: TurnInfo): string {
  const text = (content: string | readonly ContentBlock[]): string =>
    typeof content === 'string'
      ? content
      : content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join(' ');
  return turn.input.map(({ content }) => text(content)).join('\n');
}

interface BranchProps {
  readonly run: StudioRun;
  readonly agent: OfferedAgent | undefined;
  readonly turn: TurnInfo;
  readonly onClose: () => void;
}

function Branch({ run, agent, turn, onClose }: BranchProps) {
  const t = useText();
  const before = inputOf(turn);
  const [text, setText] = useState(before);
  const [model, setModel] = useState('');
  const [toolSet, setToolSet] = useState('');
  const [tools, setTools] = useState<NonNullable<BranchRequest['tools']>>('ask');
  const branch = useMutation({
    mutationFn: async () => {
      const request: BranchRequest = {
        callId: turn.callId,
        tools,
        ...(text !== before && { content: text }),
        ...(model !== '' && { model }),
        ...(toolSet !== '' && { toolSet }),
      };
      return post<StudioRun>(`runs/${encoded(run.id)}/branch`, request);
    },
    onSuccess: ({ id }) => {
      onClose();
      goTo(['runs', id]);
    },
  });
  const counts = Object.entries(turn.tools);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        branch.mutate();
      }}
    >
      {turn.input.length === 0 ? (
        <p className="sub">{t.decideAgain}</p>
      ) : (
        <div className="field">
          <label htmlFor="branch-text">{t.messageWord}</label>
          <textarea
            id="branch-text"
            rows={4}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          {text !== before && <TextDiff before={before} after={text} />}
        </div>
      )}
      {agent !== undefined && agent.models.length > 0 && (
        <Choice id="branch-model" label={t.model} value={model} options={agent.models} onChange={setModel} />
      )}
      {agent !== undefined && agent.toolSets.length > 0 && (
        <Choice
          id="branch-tools"
          label={t.toolSet}
          value={toolSet}
          options={agent.toolSets}
          onChange={setToolSet}
        />
      )}
      <fieldset className="field">
        <legend>{t.toolsInBranch}</legend>
        {(['ask', 'recorded', 'run'] as const).map((one) => (
          <label key={one} className="check">
            <input type="radio" name="tools" checked={tools === one} onChange={() => setTools(one)} />{' '}
            {t.branchTools[one]}
          </label>
        ))}
        {counts.length > 0 && (
          <p className="sub">{t.wouldAct(counts.map(([name, count]) => `${name} × ${count}`).join(', '))}</p>
        )}
      </fieldset>
      {branch.error !== null && (
        <p role="alert" className="card-problem">
          ✕ {messageOf(branch.error)}
        </p>
      )}
      <div className="card-actions">
        <button type="submit" className="button branch" disabled={branch.isPending}>
          <GitBranch size={14} aria-hidden /> {t.branchNow}
        </button>
        <button type="button" className="button" onClick={onClose}>
          {t.cancel}
        </button>
      </div>
    </form>
  );
}

function Choice(props: {
  id: string;
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
}) {
  const t = useText();
  const { id, label, value, options, onChange } = props;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{t.asBefore}</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </div>
  );
}

function Replay({ run, turn }: { run: StudioRun; turn: TurnInfo }) {
  const t = useText();
  const replay = useMutation({
    mutationFn: async () => post<ReplayReport>(`runs/${encoded(run.id)}/replay`, { callId: turn.callId }),
  });
  const { mutate } = replay;
  useEffect(() => mutate(), [mutate]);
  const report = replay.data;
  return (
    <>
      <p className="sub">{inputOf(turn)}</p>
      {replay.isPending && <Loading lines={3} />}
      {replay.error !== null && (
        <p role="alert" className="card-problem">
          ✕ {messageOf(replay.error)}
        </p>
      )}
      {report !== undefined && (
        <div className="replay" data-result={report.result} role="status">
          <p>
            <strong>{t.replayResult[report.result]}</strong> {t.sameSteps(report.steps)}
          </p>
          {report.difference !== undefined && (
            <>
              <p>{report.difference.message}</p>
              {report.difference.changes !== undefined && (
                <PromptDiffView changes={report.difference.changes} />
              )}
              {report.difference.changes === undefined &&
                (report.difference.before !== undefined || report.difference.after !== undefined) && (
                  <TextDiff before={report.difference.before ?? ''} after={report.difference.after ?? ''} />
                )}
            </>
          )}
        </div>
      )}
      <div className="card-actions">
        <button type="button" className="button" disabled={replay.isPending} onClick={() => mutate()}>
          <History size={14} aria-hidden /> {t.replayAgain}
        </button>
      </div>
    </>
  );
}

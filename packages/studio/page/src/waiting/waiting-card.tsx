import { Check, Pencil, ShieldQuestion, X } from 'lucide-react';
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import type { JsonObject, JsonValue } from 'troupe';

import type {
  Action,
  ApprovalWaiting,
  Decision,
  FieldProblem,
  QuestionWaiting,
  Waiting,
} from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { formatAgo, useNow } from '../parts/format.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { act } from '../server/actions.ts';
import { messageOf, RequestError } from '../server/request.ts';
import { WINDOW_ID } from '../server/window-id.ts';
import { settings } from '../settings.ts';
import { hrefOf } from '../route.ts';
import { fieldOf, initialValue, isObject, type FormField } from './form-field.ts';
import { fieldId, SchemaForm } from './schema-form.tsx';

/** The buttons are off in this time after the card appears, so that nobody approves by accident. */
const GUARD_MS = 400;

interface CardProps {
  readonly waiting: Waiting;
  /** Link to the run, outside of the run's page. */
  readonly hasRunLink?: boolean;
  /** Position among all that wait, such as `1 of 3`. */
  readonly position?: ReactNode;
}

/** A question or an approval that waits for a person. Shows the innermost tool with its arguments. Folder `waiting`: start here. */
export function WaitingCard({ waiting, hasRunLink = false, position }: CardProps) {
  const t = useText();
  const { language } = useStore(settings);
  const now = useNow(5000);
  const isOpen = waiting.state === 'waiting';
  return (
    <section
      className="card"
      data-state={waiting.state}
      tabIndex={-1}
      aria-label={t.waitsFor(waiting.agentPath.join(' › '))}
    >
      <header className="card-head">
        <span className="card-sign" aria-hidden="true">
          ◆
        </span>
        <span className="card-path">{waiting.agentPath.join(' › ')}</span>
        {hasRunLink && <a href={hrefOf(['runs', waiting.runId])}>{waiting.runName}</a>}
        {position}
        <span className="meta">{formatAgo(waiting.askedAt, now, language)}</span>
      </header>
      {waiting.kind === 'approval' ? (
        <Approval key={waiting.id} waiting={waiting} />
      ) : (
        <Question key={waiting.id} waiting={waiting} />
      )}
      {!isOpen && <p className="card-outcome">{outcomeOf(waiting, t)}</p>}
    </section>
  );
}

function outcomeOf(waiting: Waiting, t: ReturnType<typeof useText>): string {
  if (waiting.state === 'sent') return t.sending;
  if (waiting.state === 'gone') return t.noLongerWaiting;
  const outcome = waiting.outcome ?? '';
  const word = Object.hasOwn(t.outcome, outcome) ? t.outcome[outcome as keyof typeof t.outcome] : outcome;
  return waiting.decidedBy === WINDOW_ID ? t.decidedHere(word) : t.decidedElsewhere(word);
}

/** Sends a decision or an answer; the state of the card then comes from the server. */
function useAction(waiting: Waiting): {
  readonly isSending: boolean;
  readonly problem: string | undefined;
  readonly problems: readonly FieldProblem[];
  readonly perform: (action: Action) => Promise<void>;
} {
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const perform = async (action: Action): Promise<void> => {
    setSending(true);
    setProblem(undefined);
    setProblems([]);
    try {
      await act(waiting.runId, action);
    } catch (error) {
      setProblem(messageOf(error));
      if (error instanceof RequestError) setProblems(error.problems);
      setSending(false);
    }
  };
  useEffect(() => setSending(false), [waiting.state]);
  return { isSending: isSending || waiting.state === 'sent', problem, problems, perform };
}

/** True when a card has been visible long enough to be decided. */
function useGuard(): boolean {
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setReady(true), GUARD_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return isReady;
}

function Approval({ waiting }: { waiting: ApprovalWaiting }) {
  const t = useText();
  const { pending, argsHash } = waiting;
  const { isSending, problem, problems, perform } = useAction(waiting);
  const [mode, setMode] = useState<'ask' | 'edit' | 'deny' | 'result'>('ask');
  const [text, setText] = useState('');
  const field = useMemo(() => fieldOf(waiting.schema ?? {}), [waiting.schema]);
  const [input, setInput] = useState<JsonValue | undefined>(pending.call.input);
  const isReady = useGuard();
  const id = useId();
  const canDecide = waiting.state === 'waiting' && !isSending && isReady;
  const isExternal = pending.kind === 'external';

  const decide = (decision: Decision): void => {
    if (!canDecide) return;
    void perform({ type: 'decide', id: waiting.id, argsHash, decision });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLElement && event.target.matches('input, textarea, select')) return;
    if (!settings.get().hasLetterKeys || mode !== 'ask' || isExternal) return;
    if (event.key === 'a') decide({ verdict: 'allow' });
    else if (event.key === 'e') setMode('edit');
    else if (event.key === 'd') setMode('deny');
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const allowEdited = (): void => {
    if (isObject(input)) decide({ verdict: 'allow', input });
  };

  return (
    <div className="approval" onKeyDown={onKeyDown}>
      <p className="card-tool">
        <ShieldQuestion size={16} aria-hidden />
        <strong className="tool-name">{pending.call.name}</strong>
        <span>{isExternal ? t.needsResult : t.needsPermission}</span>
      </p>
      {pending.reason !== undefined && <p className="card-reason">{pending.reason}</p>}
      {mode === 'edit' ? (
        <>
          <Problems id={id} problems={problems} />
          <SchemaForm
            id={id}
            field={editable(field)}
            value={input}
            before={pending.call.input}
            onChange={setInput}
            problems={problems}
          />
        </>
      ) : (
        <JsonTree value={pending.call.input} />
      )}
      {problem !== undefined && (
        <p className="card-problem" role="alert">
          ✕ {problem}
        </p>
      )}
      {waiting.state === 'waiting' && (
        <div className="card-actions">
          {isExternal && (
            <TextAction
              label={t.resultOfTool}
              text={text}
              onText={setText}
              action={t.sendResult}
              isOff={!canDecide}
              onSend={() => decide({ verdict: 'result', output: text })}
            />
          )}
          {!isExternal && mode === 'deny' && (
            <TextAction
              label={t.denyReason}
              text={text}
              onText={setText}
              action={t.deny}
              isDanger
              isOff={!canDecide}
              onSend={() => decide({ verdict: 'deny', ...(text.trim() !== '' && { reason: text.trim() }) })}
              onCancel={() => setMode('ask')}
            />
          )}
          {!isExternal && mode === 'ask' && (
            <>
              <button
                type="button"
                className="button primary"
                disabled={!canDecide}
                onClick={() => decide({ verdict: 'allow' })}
              >
                <Check size={14} aria-hidden /> {t.approve}
              </button>
              <button type="button" className="button" disabled={!canDecide} onClick={() => setMode('edit')}>
                <Pencil size={14} aria-hidden /> {t.edit}
              </button>
              <button type="button" className="button" disabled={!canDecide} onClick={() => setMode('deny')}>
                <X size={14} aria-hidden /> {t.deny}…
              </button>
              {pending.isAskedEachTime !== true && (
                <button
                  type="button"
                  className="link card-always"
                  disabled={!canDecide}
                  title={t.alwaysMeans(pending.call.name)}
                  onClick={() => decide({ verdict: 'allow', scope: 'run' })}
                >
                  {t.always(pending.call.name)}
                </button>
              )}
            </>
          )}
          {mode === 'edit' && (
            <>
              <button
                type="button"
                className="button primary"
                disabled={!canDecide || !isObject(input)}
                onClick={allowEdited}
              >
                <Check size={14} aria-hidden /> {t.approveEdited}
              </button>
              <button type="button" className="button" onClick={() => setMode('ask')}>
                {t.cancel}
              </button>
            </>
          )}
        </div>
      )}
    </div>
  );
}

/** A form for arguments: an object with fields, otherwise JSON. */
function editable(field: FormField): FormField {
  if (field.kind === 'object' && field.fields.length > 0) return field;
  return { kind: 'json', title: field.title, description: field.description, preset: undefined };
}

function TextAction(props: {
  label: string;
  text: string;
  onText: (text: string) => void;
  action: string;
  isDanger?: boolean;
  isOff: boolean;
  onSend: () => void;
  onCancel?: () => void;
}) {
  const t = useText();
  const { label, text, onText, action, isDanger = false, isOff, onSend, onCancel } = props;
  const id = useId();
  return (
    <form
      className="text-action"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <label htmlFor={id}>{label}</label>
      <textarea id={id} rows={2} value={text} autoFocus onChange={(event) => onText(event.target.value)} />
      <div className="card-actions">
        <button type="submit" className={`button ${isDanger ? 'danger' : 'primary'}`} disabled={isOff}>
          {action}
        </button>
        {onCancel !== undefined && (
          <button type="button" className="button" onClick={onCancel}>
            {t.cancel}
          </button>
        )}
      </div>
    </form>
  );
}

function Question({ waiting }: { waiting: QuestionWaiting }) {
  const t = useText();
  const { isSending, problem, problems, perform } = useAction(waiting);
  const field = useMemo(
    () => (waiting.schema === null ? undefined : fieldOf(waiting.schema)),
    [waiting.schema],
  );
  const [value, setValue] = useState<JsonValue | undefined>(() => field && initialValue(field));
  const [text, setText] = useState('');
  const id = useId();
  const canAnswer = waiting.state === 'waiting' && !isSending;
  const structured: JsonObject | undefined = isObject(value) ? value : undefined;
  const answer = (): void => {
    if (!canAnswer) return;
    const action: Action = {
      type: 'answer',
      id: waiting.id,
      content: text,
      ...(structured && { structured }),
    };
    void perform(action);
  };
  return (
    <form
      className="question"
      noValidate // the server checks the answer, and names every field at once
      onSubmit={(event) => {
        event.preventDefault();
        answer();
      }}
    >
      <p className="card-tool">
        <ShieldQuestion size={16} aria-hidden />
        <strong>{t.asksYou}</strong>
      </p>
      {waiting.about !== undefined && <p className="card-about">{waiting.about}</p>}
      <Problems id={id} problems={problems} />
      {waiting.state === 'waiting' && (
        <>
          {field !== undefined && (
            <SchemaForm id={id} field={field} value={value} onChange={setValue} problems={problems} />
          )}
          <div className="field">
            <label htmlFor={`${id}-text`}>{field === undefined ? t.yourAnswer : t.yourMessage}</label>
            <textarea
              id={`${id}-text`}
              rows={field === undefined ? 3 : 1}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </div>
        </>
      )}
      {problem !== undefined && (
        <p className="card-problem" role="alert">
          ✕ {problem}
        </p>
      )}
      {waiting.state === 'waiting' && (
        <div className="card-actions">
          <button type="submit" className="button primary" disabled={!canAnswer}>
            {t.answer}
          </button>
        </div>
      )}
    </form>
  );
}

/** Summary of problems, which takes the focus and links to the fields. */
function Problems({ id, problems }: { id: string; problems: readonly FieldProblem[] }) {
  const t = useText();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (problems.length > 0) ref.current?.focus();
  }, [problems]);
  if (problems.length === 0) return null;
  return (
    <div className="problems" ref={ref} tabIndex={-1} role="alert">
      <p>{t.problems(problems.length)}</p>
      <ul>
        {problems.map(({ path, message }, index) => (
          <li key={index}>
            <button
              type="button"
              className="link"
              onClick={() => document.getElementById(fieldId('field', [id, ...path]))?.focus()}
            >
              {path.join('.') || '–'}
            </button>
            : {message}
          </li>
        ))}
      </ul>
    </div>
  );
}

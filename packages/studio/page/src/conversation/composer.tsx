import { Paperclip, SendHorizontal, Square, X } from 'lucide-react';
import { useEffect, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from 'react';

import type { Action, StudioRun, Suggestion } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { useKeys } from '../keys.ts';
import { useStore } from '../live/store.ts';
import type { CastMember } from '../live/tape-fold.ts';
import { formatBytes } from '../parts/format.ts';
import { act } from '../server/actions.ts';
import { messageOf } from '../server/request.ts';
import { settings } from '../settings.ts';
import { followEnd } from './follow.ts';
import { contentOf, readAttachment, type Attachment } from './attachments.ts';

type Mode = 'send' | 'steer' | 'follow_up';

interface ComposerProps {
  readonly run: StudioRun;
  readonly cast: readonly CastMember[];
  readonly maxFileBytes: number;
  readonly suggestions: readonly Suggestion[];
}

/** Drafts by run, so that leaving a run and coming back keeps the text. */
const drafts = new Map<string, string>();

/** Sends a message, steers a running agent, or stops it. Its text stays when the connection is lost or the server refuses. */
export function Composer({ run, cast, maxFileBytes, suggestions }: ComposerProps) {
  const t = useText();
  const { language } = useStore(settings);
  const [text, setText] = useState(drafts.get(run.id) ?? '');
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const [target, setTarget] = useState('');
  const [mode, setMode] = useState<Mode>('send');
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const roots = cast.filter(({ agentId }) => agentId !== undefined);
  const isRunning = run.status === 'running' || cast.some((member) => member.isRunning);
  const canStepIn = run.can.stepIn && isRunning;
  /** Whether the only outermost agent has ended its reply with a question: it takes a decision now, and nothing else. */
  const isSuspended =
    run.status === 'waiting' && !isRunning && cast.filter(({ path }) => path.length === 1).length < 2;
  const modes: Mode[] = [
    ...(run.can.send && !isSuspended ? (['send'] as const) : []),
    ...(canStepIn ? (['steer', 'follow_up'] as const) : []),
  ];
  const preferred: Mode = canStepIn ? 'steer' : 'send';
  const chosen = modes.includes(mode) && (mode !== 'send' || !canStepIn) ? mode : preferred;

  useEffect(() => {
    drafts.set(run.id, text);
    const element = field.current;
    if (element === null) return;
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, 220)}px`;
  }, [text, run.id]);
  useEffect(() => setAsked(false), [isRunning]);

  const perform = async (action: Action): Promise<boolean> => {
    setSending(true);
    setProblem(undefined);
    try {
      await act(run.id, action);
      return true;
    } catch (error) {
      setProblem(messageOf(error));
      return false;
    } finally {
      setSending(false);
    }
  };
  const send = async (said = text): Promise<void> => {
    if ((said.trim() === '' && attachments.length === 0) || isSending || modes.length === 0) return;
    const content = contentOf(said, attachments);
    const hasWorked = await perform({ type: chosen, content, ...(target !== '' && { agentId: target }) });
    if (!hasWorked) return;
    setText('');
    setAttachments([]);
    followEnd();
  };
  const interrupt = async (): Promise<void> => {
    setAsked(false);
    await perform({ type: 'interrupt', ...(target !== '' && { agentId: target }) });
  };
  const attach = async (files: Iterable<File>): Promise<void> => {
    const chosenFiles = [...files]; // a copy: the list of the picker is emptied while the first file is read
    for (const file of chosenFiles) {
      if (file.size > maxFileBytes) {
        setProblem(t.fileTooLarge(file.name, formatBytes(maxFileBytes)));
        continue;
      }
      const attachment = await readAttachment(file, `${file.name}-${file.size}-${file.lastModified}`);
      setAttachments((before) => [...before.filter(({ id }) => id !== attachment.id), attachment]);
    }
  };
  useKeys({
    i: () => field.current?.focus(),
    I: () => (canStepIn ? (isAsked ? void interrupt() : setAsked(true)) : false),
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape') field.current?.blur();
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    void send();
  };
  const onPaste = (event: ClipboardEvent): void => {
    if (event.clipboardData.files.length > 0) void attach(event.clipboardData.files);
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    void attach(event.dataTransfer.files);
  };

  const isOff = modes.length === 0;
  return (
    <form
      className="composer"
      aria-label={t.composer}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      {suggestions.length > 0 && !isRunning && !isSuspended && run.can.send && (
        <ul className="suggestions" aria-label={t.suggestions}>
          {suggestions.map((suggestion) => (
            <li key={suggestion.text}>
              <button type="button" onClick={() => void send(suggestion.text)}>
                {suggestion.label[language]}
              </button>
            </li>
          ))}
        </ul>
      )}
      {problem !== undefined && (
        <p className="composer-problem" role="alert">
          {problem}
        </p>
      )}
      {attachments.length > 0 && (
        <ul className="attachments" aria-label={t.attachments}>
          {attachments.map(({ id, name, size }) => (
            <li key={id}>
              {name} · {formatBytes(size)}
              <button
                type="button"
                className="icon-button small"
                aria-label={t.removeFile(name)}
                onClick={() => setAttachments(attachments.filter((one) => one.id !== id))}
              >
                <X size={12} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="composer-box" data-off={isOff}>
        <textarea
          ref={field}
          rows={1}
          value={text}
          disabled={isOff}
          placeholder={
            isOff
              ? t.cannotSend[!run.isConnected ? 'gone' : isSuspended ? 'waiting' : 'view']
              : t.placeholder[chosen]
          }
          aria-label={t.composer}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <div className="composer-tools">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              void attach(event.target.files ?? []);
              event.target.value = '';
            }}
          />
          <button
            type="button"
            className="icon-button"
            disabled={isOff}
            onClick={() => picker.current?.click()}
            aria-label={t.attach}
            title={t.attach}
          >
            <Paperclip size={16} aria-hidden />
          </button>
          {roots.length > 1 && (
            <label className="composer-target">
              <span className="hidden">{t.to}</span>
              <select value={target} onChange={(event) => setTarget(event.target.value)}>
                <option value="">{t.anyAgent}</option>
                {roots.map(({ key, agentId }) => (
                  <option key={key} value={agentId}>
                    {key}
                  </option>
                ))}
              </select>
            </label>
          )}
          {canStepIn && (
            <div className="segments" role="radiogroup" aria-label={t.mode}>
              {(['steer', 'follow_up'] as const).map((one) => (
                <label key={one} data-chosen={chosen === one}>
                  <input type="radio" name="mode" checked={chosen === one} onChange={() => setMode(one)} />
                  {t.modes[one]}
                </label>
              ))}
            </div>
          )}
          <span className="spring" />
          {canStepIn &&
            (isAsked ? (
              <button type="button" className="button danger" onClick={() => void interrupt()}>
                <Square size={12} aria-hidden /> {t.interruptNow}
              </button>
            ) : (
              <button type="button" className="button" onClick={() => void interrupt()} title="Shift I">
                <Square size={12} aria-hidden /> {t.interrupt}
              </button>
            ))}
          <button
            type="submit"
            className="button primary"
            aria-label={t.send}
            disabled={isOff || isSending || (text.trim() === '' && attachments.length === 0)}
          >
            <SendHorizontal size={14} aria-hidden /> <span>{t.send}</span>
          </button>
        </div>
      </div>
    </form>
  );
}

import { Check, Pencil, ShieldQuestion, X } from 'lucide-react';
import { useId, useMemo, useState, type KeyboardEvent } from 'react';
import type { JsonValue } from 'troupe';

import type { ApprovalWaiting, Decision } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { settings } from '../settings.ts';
import { fieldOf, isObject, type FormField } from './form-field.ts';
import { Problems } from './problems.tsx';
import { SchemaForm } from './schema-form.tsx';
import { TextAction } from './text-action.tsx';
import { useAction, useGuard } from './use-action.ts';

/** A tool call that needs permission, or a result from outside. */
export function Approval({ waiting }: { waiting: ApprovalWaiting }) {
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
    <div className="approval" tabIndex={-1} onKeyDown={onKeyDown}>
      <p className="card-tool">
        <ShieldQuestion size={16} aria-hidden />
        <strong className="tool-name">{pending.call.name}</strong>
        <span>{isExternal ? t.needsResult : t.needsPermission}</span>
        {pending.source !== undefined && <span className="tag">{pending.source}</span>}
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

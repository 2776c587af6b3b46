import { Check, ExternalLink, MessageCircleQuestion, X } from 'lucide-react';
import { useId, useMemo, useState } from 'react';
import type { JsonValue } from 'troupe';
import type { UserAnswer, UserQuestion } from 'troupe/ask-user';

import type { ApprovalWaiting, Decision, FieldProblem } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { safeLink } from '../markdown/safe-link.ts';
import { fieldOf, initialValue, isObject } from './form-field.ts';
import { Problems } from './problems.tsx';
import { SchemaForm } from './schema-form.tsx';
import { sendOnEnter } from './send-on-enter.ts';
import { TextAction } from './text-action.tsx';
import { useAction, useGuard } from './use-action.ts';

interface ToolQuestionProps {
  readonly waiting: ApprovalWaiting;
  readonly question: UserQuestion;
}

/** A question of a tool, such as `ask_user`: in words, with choices, by a form, or answered on another page. */
export function ToolQuestion({ waiting, question }: ToolQuestionProps) {
  const t = useText();
  const { isSending, problem, problems, perform } = useAction(waiting);
  const [isDeclining, setDeclining] = useState(false);
  const [reason, setReason] = useState('');
  const id = useId();
  const isOpen = waiting.state === 'waiting';
  const isOff = !isOpen || isSending;
  const decide = (decision: Decision): void => {
    if (isOff) return;
    void perform({ type: 'decide', id: waiting.id, argsHash: waiting.argsHash, decision });
  };
  return (
    <div className="question">
      <p className="card-tool">
        <MessageCircleQuestion size={16} aria-hidden />
        <strong>{t.asksYou}</strong>
        <span className="tool-name">{waiting.pending.call.name}</span>
        {waiting.pending.source !== undefined && <span className="tag">{waiting.pending.source}</span>}
      </p>
      <p className="card-about" id={`${id}-message`}>
        {question.message}
      </p>
      <Problems id={id} problems={problems} />
      {isOpen && !isDeclining && (
        <AnswerForm
          id={id}
          question={question}
          problems={problems}
          isOff={isOff}
          onAnswer={(answer) => decide({ verdict: 'answer', ...(answer !== undefined && { answer }) })}
          onDecline={() => setDeclining(true)}
        />
      )}
      {isOpen && isDeclining && (
        <TextAction
          label={t.denyReason}
          text={reason}
          onText={setReason}
          action={t.decline}
          isDanger
          isOff={isOff}
          onSend={() => decide({ verdict: 'deny', ...(reason.trim() !== '' && { reason: reason.trim() }) })}
          onCancel={() => setDeclining(false)}
        />
      )}
      {problem !== undefined && (
        <p className="card-problem" role="alert">
          ✕ {problem}
        </p>
      )}
    </div>
  );
}

interface AnswerFormProps {
  readonly id: string;
  readonly question: UserQuestion;
  readonly problems: readonly FieldProblem[];
  readonly isOff: boolean;
  readonly onAnswer: (answer: UserAnswer | undefined) => void;
  readonly onDecline: () => void;
}

function AnswerForm({ id, question, problems, isOff, onAnswer, onDecline }: AnswerFormProps) {
  const t = useText();
  const { choices, multiple = false, schema, url } = question;
  const field = useMemo(() => (schema === undefined ? undefined : fieldOf(schema)), [schema]);
  const [value, setValue] = useState<JsonValue | undefined>(() => field && initialValue(field));
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const isReady = useGuard(); // for what one click answers
  const page = url === undefined ? undefined : safeLink(url);
  const isOneChoice = choices !== undefined && !multiple;
  const isText = url === undefined && field === undefined && choices === undefined;
  const isEmpty = isText && text.trim() === '';
  const answer = (): UserAnswer | undefined => {
    if (url !== undefined) return undefined;
    if (field !== undefined) return isObject(value) ? value : {};
    return choices === undefined ? text : chosen;
  };
  const toggle = (choice: string): void =>
    setChosen(chosen.includes(choice) ? chosen.filter((one) => one !== choice) : [...chosen, choice]);
  return (
    <form
      noValidate // the server checks the answer, and names every field at once
      onSubmit={(event) => {
        event.preventDefault();
        if (!isOff && !isEmpty && !isOneChoice) onAnswer(answer());
      }}
    >
      {page !== undefined && (
        <p>
          <a href={page.href} target="_blank" rel="noopener noreferrer">
            {t.openAt(page.host)} <ExternalLink size={13} aria-hidden />
          </a>
        </p>
      )}
      {choices !== undefined && (
        <ul className="choices" aria-labelledby={`${id}-message`}>
          {choices.map((choice) => (
            <li key={choice}>
              {multiple ? (
                <label className="check">
                  <input type="checkbox" checked={chosen.includes(choice)} onChange={() => toggle(choice)} />
                  {choice}
                </label>
              ) : (
                <button
                  type="button"
                  className="button"
                  disabled={isOff || !isReady}
                  onClick={() => onAnswer(choice)}
                >
                  {choice}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {field !== undefined && (
        <SchemaForm id={id} field={field} value={value} onChange={setValue} problems={problems} />
      )}
      {isText && (
        <div className="field">
          <label className="hidden" htmlFor={`${id}-text`}>
            {t.yourAnswer}
          </label>
          <textarea
            id={`${id}-text`}
            rows={2}
            value={text}
            placeholder={t.yourAnswer}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={sendOnEnter}
          />
        </div>
      )}
      <div className="card-actions">
        {!isOneChoice && (
          <button
            type="submit"
            className="button primary"
            disabled={isOff || isEmpty || (url !== undefined && !isReady)}
          >
            <Check size={14} aria-hidden /> {url === undefined ? t.answer : t.doneThere}
          </button>
        )}
        <button type="button" className="button" disabled={isOff} onClick={onDecline}>
          <X size={14} aria-hidden /> {t.decline}…
        </button>
      </div>
    </form>
  );
}

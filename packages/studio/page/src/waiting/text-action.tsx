import { useId } from 'react';

import { useText } from '../i18n/use-text.ts';

/** A field for text with a button that sends it. */
export function TextAction(props: {
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

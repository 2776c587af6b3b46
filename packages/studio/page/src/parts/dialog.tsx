import { X } from 'lucide-react';
import { useEffect, useId, useRef, type ReactNode } from 'react';

import { useText } from '../i18n/use-text.ts';

/**
 * A modal dialog: the browser's own, which keeps the focus inside and closes by Escape. Mounted means open. The first field has the
 * focus; without fields, the button that closes.
 */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  className?: string;
}) {
  const { title, onClose, children, className = '' } = props;
  const t = useText();
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) {
      dialog.showModal();
      dialog.querySelector<HTMLElement>('input, select, textarea')?.focus();
    }
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={`dialog ${className}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" className="icon-button" onClick={onClose} aria-label={t.close}>
            <X size={16} aria-hidden />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

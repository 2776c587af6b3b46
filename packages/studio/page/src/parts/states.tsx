import { RotateCw } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';

import { useText } from '../i18n/use-text.ts';
import { messageOf } from '../server/request.ts';

/** Rules in place of text, after 150 ms: a fast answer shows nothing of it. */
export function Loading({ lines = 5 }: { lines?: number }) {
  const t = useText();
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(true), 150);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <div className="loading" role="status" aria-label={t.loading}>
      {isShown &&
        Array.from({ length: lines }, (_, index) => (
          <div key={index} className="rule" data-line={index % 4} />
        ))}
    </div>
  );
}

/** A sentence on why nothing is here, and one action. */
export function Empty({ title, children, icon }: { title: string; children?: ReactNode; icon?: ReactNode }) {
  return (
    <div className="state">
      {icon !== undefined && <div className="state-icon">{icon}</div>}
      <p className="state-title">{title}</p>
      {children}
    </div>
  );
}

export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useText();
  return (
    <div className="state bad-state" role="alert">
      <p className="state-title">{t.notLoaded}</p>
      <p>{messageOf(error)}</p>
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          <RotateCw size={14} aria-hidden /> {t.tryAgain}
        </button>
      )}
    </div>
  );
}

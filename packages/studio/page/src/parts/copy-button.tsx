import { Check, Copy } from 'lucide-react';
import { useState } from 'react';

import { useText } from '../i18n/use-text.ts';

/** Copies a text, and says so for a moment. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useText();
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      window.setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <button
      type="button"
      className="icon-button small"
      onClick={copy}
      aria-label={label ?? t.copy}
      title={label ?? t.copy}
    >
      {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
    </button>
  );
}

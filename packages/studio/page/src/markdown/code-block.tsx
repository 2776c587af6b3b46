import { memo, useEffect, useState, type ReactNode } from 'react';

import { CopyButton } from '../parts/copy-button.tsx';

const MAX_COLOURED = 40_000;

/** Code with its language and a button to copy it. Coloured when it is complete; the grammars are loaded then. */
export const CodeBlock = memo(function CodeBlock(props: { code: string; language: string; isOpen: boolean }) {
  const { code, language, isOpen } = props;
  const [coloured, setColoured] = useState<{ code: string; nodes: ReactNode }>();
  useEffect(() => {
    if (isOpen || language === '' || code.length > MAX_COLOURED) return;
    let isGone = false;
    void import('./highlight.tsx').then(({ highlight }) => {
      const nodes = highlight(code, language);
      if (!isGone && nodes !== undefined) setColoured({ code, nodes });
    });
    return () => {
      isGone = true;
    };
  }, [code, language, isOpen]);
  return (
    <figure className="code">
      <figcaption>
        <span>{language || 'text'}</span>
        <CopyButton text={code} />
      </figcaption>
      <pre tabIndex={0}>
        <code>{coloured?.code === code ? coloured.nodes : code}</code>
      </pre>
    </figure>
  );
});

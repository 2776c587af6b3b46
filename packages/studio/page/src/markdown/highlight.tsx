import { common, createLowlight } from 'lowlight';
import type { ReactNode } from 'react';

const lowlight = createLowlight(common);

type Tree = ReturnType<typeof lowlight.highlight>;

/** Colours code as React elements; undefined for a language without a grammar. */
export function highlight(code: string, language: string): ReactNode | undefined {
  return lowlight.registered(language) ? shown(lowlight.highlight(language, code).children) : undefined;
}

function shown(nodes: Tree['children']): ReactNode {
  return nodes.map((node, index) => {
    if (node.type === 'text') return node.value;
    if (node.type !== 'element') return null;
    const names = node.properties['className'];
    return (
      <span key={index} className={Array.isArray(names) ? names.join(' ') : undefined}>
        {shown(node.children)}
      </span>
    );
  });
}

import { Lexer, type Token, type Tokens } from 'marked';
import { Fragment, memo, useMemo, useRef, type ReactNode } from 'react';

import { CodeBlock } from './code-block.tsx';
import { safeLink } from './safe-link.ts';
import { NOTHING_SPLIT, splitBlocks, type SplitText } from './split-blocks.ts';

/** Deeper tokens are shown as their source. */
const MAX_DEPTH = 24;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

/**
 * Markdown as React elements, without any HTML text: tokens that are not known below, and HTML in the source, are shown as text. Images are never
 * loaded. Blocks of a growing text are parsed once. Folder `markdown`: start here.
 */
export const Markdown = memo(function Markdown({ text, isPartial }: { text: string; isPartial: boolean }) {
  const split = useRef<SplitText>(NOTHING_SPLIT);
  const last = useRef('');
  if (!text.startsWith(last.current)) split.current = NOTHING_SPLIT; // another text, not a longer one
  last.current = text;
  const isWhole = !isPartial && DEFINITION.test(text); // definitions are for all blocks
  split.current = isWhole ? NOTHING_SPLIT : splitBlocks(text, split.current);
  const { blocks, end } = split.current;
  const rest = text.slice(end);
  return (
    <div className="md">
      {blocks.map((block, index) => (
        <Block key={index} source={block} isOpen={false} />
      ))}
      {rest !== '' && <Block key={blocks.length} source={rest} isOpen={isPartial} />}
    </div>
  );
});

const Block = memo(function Block({ source, isOpen }: { source: string; isOpen: boolean }) {
  const tokens = useMemo(() => lexed(source), [source]);
  return tokens === undefined ? <p className="md-plain">{source}</p> : <>{shownAll(tokens, 0, isOpen)}</>;
});

/** Tokens of a text; undefined if the lexer fails on it. */
function lexed(source: string): Token[] | undefined {
  try {
    return new Lexer({ gfm: true }).lex(source);
  } catch {
    return undefined;
  }
}

function shownAll(tokens: readonly Token[] | undefined, depth: number, isOpen = false): ReactNode {
  return tokens?.map((token, index) => (
    <Fragment key={index}>{shown(token, depth, isOpen && index === tokens.length - 1)}</Fragment>
  ));
}

function shown(token: Token, depth: number, isOpen: boolean): ReactNode {
  if (depth > MAX_DEPTH) return token.raw;
  const inner = (tokens: readonly Token[] | undefined): ReactNode => shownAll(tokens, depth + 1, isOpen);
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'hr':
      return <hr />;
    case 'br':
      return <br />;
    case 'heading': {
      const { depth: level, tokens } = token as Tokens.Heading;
      const Tag = (['h3', 'h4', 'h5', 'h6'] as const)[Math.min(level, 4) - 1] ?? 'h6';
      return <Tag>{inner(tokens)}</Tag>;
    }
    case 'paragraph':
      return <p>{inner((token as Tokens.Paragraph).tokens)}</p>;
    case 'blockquote':
      return <blockquote>{inner((token as Tokens.Blockquote).tokens)}</blockquote>;
    case 'list':
      return <List list={token as Tokens.List} depth={depth} isOpen={isOpen} />;
    case 'table':
      return <Table table={token as Tokens.Table} depth={depth} />;
    case 'code': {
      const { text, lang = '' } = token as Tokens.Code;
      return <CodeBlock code={text} language={lang.split(/\s/)[0] ?? ''} isOpen={isOpen} />;
    }
    case 'strong':
      return <strong>{inner((token as Tokens.Strong).tokens)}</strong>;
    case 'em':
      return <em>{inner((token as Tokens.Em).tokens)}</em>;
    case 'del':
      return <del>{inner((token as Tokens.Del).tokens)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'escape':
      return (token as Tokens.Escape).text;
    case 'checkbox':
      return null; // shown with its list item
    case 'text': {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? decoded(text) : inner(tokens);
    }
    case 'link':
      return <Link link={token as Tokens.Link}>{inner((token as Tokens.Link).tokens)}</Link>;
    case 'image': {
      const { href, text } = token as Tokens.Image;
      const url = safeLink(href);
      const label = `🖼 ${text || 'image'}`;
      return url === undefined ? (
        <span className="md-image">{label}</span>
      ) : (
        <Outside url={url}>{label}</Outside>
      );
    }
    default:
      return token.raw; // HTML and unknown tokens, as text
  }
}

function List({ list, depth, isOpen }: { list: Tokens.List; depth: number; isOpen: boolean }) {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? 'md-task' : undefined}>
      {item.task && <span aria-hidden="true">{item.checked === true ? '☑ ' : '☐ '}</span>}
      {shownAll(item.tokens, depth + 1, isOpen && index === list.items.length - 1)}
    </li>
  ));
  return list.ordered ? <ol start={list.start === '' ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  const align = (index: number): string | undefined => {
    const side = table.align[index];
    return side === null || side === undefined ? undefined : `md-${side}`;
  };
  return (
    <div className="md-table" tabIndex={0} role="group">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} className={align(index)} scope="col">
                {shownAll(cell.tokens, depth + 1)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} className={align(index)}>
                  {shownAll(cell.tokens, depth + 1)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Link({ link, children }: { link: Tokens.Link; children: ReactNode }) {
  const url = safeLink(link.href);
  if (url === undefined) return <span className="md-refused">{children}</span>;
  return (
    <Outside url={url} text={link.text}>
      {children}
    </Outside>
  );
}

/** A link that leaves the page, with its real host if the text does not tell. */
function Outside({ url, text, children }: { url: URL; text?: string; children: ReactNode }) {
  const host = url.protocol === 'mailto:' ? url.pathname : url.host;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer" title={url.href}>
      {children}
      {text?.includes(host) !== true && <span className="md-host"> ({host})</span>}
    </a>
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': '\u00a0',
};

function decoded(text: string): string {
  return text.includes('&')
    ? text.replaceAll(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (name) => ENTITIES[name] ?? name)
    : text;
}

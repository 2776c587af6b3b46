import { ChevronDown, ChevronRight } from 'lucide-react';
import { memo, useState } from 'react';
import type { BlockView } from 'troupe/events';

import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { formatClock, formatCount } from '../parts/format.ts';
import { settings } from '../settings.ts';
import { agentColour } from './agent-colour.ts';
import { Media } from './media.tsx';
import { isSpoken, type MessageRow } from './rows.ts';

const MAX_PATH_DEPTH = 3;
/** Name of messages of a person who has no other one. */
const DEFAULT_USER = 'user';

/** One message: a bar in the colour of its agent, the name, and its blocks. */
export const Message = memo(function Message({ row }: { row: MessageRow }) {
  const t = useText();
  const { language, showsThinking } = useStore(settings);
  const { msg, hasHeader, depth } = row;
  const isUser = msg.role === 'user' && msg.agentPath.length === 0;
  const own = isUser && msg.name === DEFAULT_USER ? t.you : msg.name;
  const name = depth > MAX_PATH_DEPTH ? msg.agentPath.join(' › ') : own;
  const shown = msg.content.filter((block) => isSpoken(block, showsThinking));
  return (
    <article
      className="message"
      data-user={isUser}
      {...agentColour(row.colour)}
      aria-label={t.messageOf(own)}
    >
      {hasHeader && (
        <header>
          <span className="speaker">{name}</span>
          {msg.role === 'system' && <span className="tag">{t.system}</span>}
          <span className="meta">
            {msg.usage !== undefined && (
              <span title={t.tokensInOut}>
                {formatCount(msg.usage.inputTokens)} → {formatCount(msg.usage.outputTokens)}
              </span>
            )}
            {row.at !== undefined && <time dateTime={row.at}>{formatClock(row.at, language)}</time>}
          </span>
        </header>
      )}
      <div className="message-body">
        {shown.map((block, index) => (
          <Block key={index} block={block} />
        ))}
      </div>
    </article>
  );
});

export function Block({ block }: { block: BlockView }) {
  switch (block.type) {
    case 'text':
      return <Markdown text={block.text} isPartial={block.isPartial === true} />;
    case 'thinking':
      return <Thinking text={block.thinking} isPartial={block.isPartial === true} />;
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return <Media block={block} />;
    case 'tool_use':
    case 'tool_result':
    default: // rows of their own, and blocks of later versions
      return null;
  }
}

/** Thinking of a model: one line, which opens. While it streams, the last lines are shown. */
function Thinking({ text, isPartial }: { text: string; isPartial: boolean }) {
  const t = useText();
  const [isOpen, setOpen] = useState(false);
  const first = text.trim().split('\n', 1)[0] ?? '';
  return (
    <div className="thinking" data-live={isPartial}>
      <button type="button" className="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
        <span className="thinking-label">{isPartial ? t.thinkingNow : t.thinking}</span>
        {!isOpen && !isPartial && <span className="thinking-line">{first}</span>}
      </button>
      {(isOpen || isPartial) && <div className="thinking-text">{isOpen ? text : text.slice(-400)}</div>}
    </div>
  );
}

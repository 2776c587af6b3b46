import { ArrowDown } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';

import { encoded } from '../encoded.ts';
import { useText } from '../i18n/use-text.ts';
import { useKeys } from '../keys.ts';
import { useStore, type Store } from '../live/store.ts';
import { followWishes } from './follow.ts';
import { Message } from './message.tsx';
import { NoticeLine } from './notice-line.tsx';
import type { Row } from './rows.ts';
import { ToolCall, ToolGroup } from './tool-call.tsx';

export interface ConversationProps {
  readonly rows: readonly Row[];
  readonly folds: Store<ReadonlyMap<string, boolean>>;
  readonly selected: Store<string | undefined>;
  readonly onSelect: (row: Row) => void;
  /** Changes when rows were added in front. */
  readonly generation: number;
  readonly hasEarlier: boolean;
  readonly isLoadingEarlier: boolean;
  readonly onEarlier: () => void;
  readonly canDecide: boolean;
}

const NEAR_END = 40;
const GESTURE_MS = 600;
const UP_KEYS = ['ArrowUp', 'PageUp', 'Home'];

/**
 * The rows of a conversation in a virtual list. It follows the end while the reader is at the end, and only then: an upward gesture stops
 * following, coming back to the end resumes it. Folder `conversation`: start here.
 */
export function Conversation(props: ConversationProps) {
  const { rows, folds, selected, onSelect, generation, hasEarlier, isLoadingEarlier, onEarlier, canDecide } =
    props;
  const t = useText();
  const scroller = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isFollowing = useRef(true);
  const gestureAt = useRef(0);
  const [unseenFrom, setUnseenFrom] = useState<number>();
  const chosen = useStore(selected);
  const lastGeneration = useRef(generation);
  const isShifted = lastGeneration.current !== generation;
  useEffect(() => {
    lastGeneration.current = generation;
  }, [generation]);

  const toEnd = (): void => {
    const element = scroller.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  };
  const follow = (): void => {
    isFollowing.current = true;
    setUnseenFrom(undefined);
    toEnd();
  };
  useLayoutEffect(() => {
    if (inner.current === null || scroller.current === null) return;
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) toEnd();
    });
    observer.observe(inner.current);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (isFollowing.current) toEnd();
  }, [rows]);
  const wishes = useStore(followWishes);
  useEffect(follow, [wishes]);

  const onScroll = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (distance < NEAR_END) {
      isFollowing.current = true;
      setUnseenFrom(undefined);
    } else if (isFollowing.current && performance.now() - gestureAt.current < GESTURE_MS) {
      isFollowing.current = false;
      setUnseenFrom(rows.length);
    }
  };
  const gesture = (): void => {
    gestureAt.current = performance.now();
  };

  const index = useMemo(() => rows.findIndex(({ key }) => key === chosen), [rows, chosen]);
  const choose = (at: number): void => {
    const row = rows[Math.max(0, Math.min(at, rows.length - 1))];
    if (row === undefined) return;
    isFollowing.current = false;
    setUnseenFrom((before) => before ?? rows.length);
    onSelect(row);
    list.current?.scrollToIndex(rows.indexOf(row), { align: 'nearest' });
  };
  const count = useRef(rows.length);
  count.current = rows.length;
  const toggle = useRef((key: string, isOpen: boolean): void => {
    const element = scroller.current;
    // The row that is opened stays where it is.
    isFollowing.current = false;
    if (element !== null && element.scrollHeight - element.scrollTop - element.clientHeight >= NEAR_END)
      setUnseenFrom((before) => before ?? count.current);
    folds.set(new Map(folds.get()).set(key, isOpen));
  });
  const find = (from: number, step: number, test: (row: Row) => boolean): void => {
    for (let at = from; at >= 0 && at < rows.length; at += step) {
      const row = rows[at];
      if (row !== undefined && test(row)) return choose(at);
    }
  };
  const start = index === -1 ? rows.length : index;
  useKeys({
    j: () => choose(index === -1 ? rows.length - 1 : index + 1),
    k: () => choose(start - 1),
    J: () => find(start + 1, 1, (row) => speakerOf(row) === speakerOf(rows[index])),
    K: () => find(start - 1, -1, (row) => speakerOf(row) === speakerOf(rows[index])),
    h: () => foldChosen(rows[index], false),
    l: () => foldChosen(rows[index], true),
    '.': () => find(index + 1, 1, isFailure),
    f: follow,
  });
  const foldChosen = (row: Row | undefined, isOpen: boolean): void => {
    if (row?.kind === 'tool' || row?.kind === 'tools') toggle.current(row.key, isOpen);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (UP_KEYS.includes(event.key)) gesture();
  };

  const unseen = unseenFrom === undefined ? 0 : rows.length - unseenFrom;
  return (
    <div className="conversation">
      <div
        className="conversation-scroll"
        ref={scroller}
        role="group"
        aria-label={t.conversation}
        aria-activedescendant={index === -1 ? undefined : rowId(chosen)}
        tabIndex={0}
        onScroll={onScroll}
        onWheel={(event) => event.deltaY < 0 && gesture()}
        onTouchMove={gesture}
        onPointerDown={gesture}
        onKeyDown={onKeyDown}
      >
        {hasEarlier && (
          <button type="button" className="earlier" onClick={onEarlier} disabled={isLoadingEarlier}>
            {isLoadingEarlier ? t.loading : t.loadEarlier}
          </button>
        )}
        <div ref={inner}>
          <Virtualizer
            ref={list}
            data={rows}
            scrollRef={scroller}
            shift={isShifted}
            bufferSize={600}
            keepMounted={index === -1 ? [] : [index]}
          >
            {(row) => (
              <div
                key={row.key}
                id={rowId(row.key)}
                className="row"
                data-depth={Math.min(row.depth, 3)}
                data-kind={row.kind}
                data-chosen={row.key === chosen}
                data-seq={row.seq}
                onClick={() => onSelect(row)}
              >
                <RowBody row={row} onToggle={toggle.current} canDecide={canDecide} />
              </div>
            )}
          </Virtualizer>
        </div>
      </div>
      {unseenFrom !== undefined && (
        <button type="button" className="to-end" onClick={follow}>
          <ArrowDown size={14} aria-hidden /> {unseen > 0 ? t.newBelow(unseen) : t.toEnd}
        </button>
      )}
    </div>
  );
}

interface RowBodyProps {
  readonly row: Row;
  readonly onToggle: (key: string, isOpen: boolean) => void;
  readonly canDecide: boolean;
}

function RowBody({ row, onToggle, canDecide }: RowBodyProps) {
  switch (row.kind) {
    case 'message':
      return <Message row={row} />;
    case 'tool':
      return <ToolCall row={row} onToggle={onToggle} canDecide={canDecide} />;
    case 'tools':
      return <ToolGroup row={row} onToggle={onToggle} />;
    case 'notice':
      return <NoticeLine notice={row.notice} />;
  }
}

/** Element id of a row. Keys hold any text, so they are encoded. */
function rowId(key: string | undefined): string {
  return `row-${encoded(key ?? '').replaceAll(/[^\w-]/g, '_')}`;
}

function speakerOf(row: Row | undefined): number | undefined {
  return row === undefined || row.kind === 'notice' ? undefined : row.colour;
}

function isFailure(row: Row): boolean {
  if (row.kind === 'tool')
    return row.state === 'error' || row.state === 'denied' || row.state === 'unavailable';
  return row.kind === 'notice' && row.notice.kind === 'error';
}

import { ChevronLeft, ChevronRight, Radio } from 'lucide-react';
import { memo, useMemo } from 'react';

import { agentColour } from '../conversation/agent-colour.ts';
import { useText } from '../i18n/use-text.ts';
import { useKeys } from '../keys.ts';
import { useStore } from '../live/store.ts';
import type { Frame } from '../live/tape-fold.ts';
import { formatClock } from '../parts/format.ts';
import { settings } from '../settings.ts';

interface StripProps {
  readonly frames: readonly Frame[];
  readonly version: number;
  readonly at: number | undefined;
  readonly onLook: (seq: number | undefined) => void;
}

/** More frames are drawn as this number of bars. */
const MAX_BARS = 240;

/** The whole run as frames, one for each message, tool call and decision. Moving the slider looks at the run as it was; nothing executes. */
export function Strip({ frames, version, at, onLook }: StripProps) {
  const t = useText();
  const { language } = useStore(settings);
  const last = frames.length - 1;
  const index = at === undefined ? last : frames.findLastIndex(({ seq }) => seq <= at);
  const goTo = (next: number): void => {
    const frame = frames[Math.max(0, next)];
    onLook(frame === undefined || next >= last ? undefined : frame.seq);
  };
  const turn = (step: number): void => {
    for (let next = index + step; next >= 0 && next <= last; next += step)
      if (frames[next]?.isTurn === true) return goTo(next);
    goTo(step < 0 ? 0 : last);
  };
  useKeys({
    '[': () => goTo(index - 1),
    ']': () => goTo(index + 1),
    '{': () => turn(-1),
    '}': () => turn(1),
  });
  if (frames.length < 2) return <div className="strip" />;
  const frame = frames[index];
  return (
    <div className="strip" role="group" aria-label={t.tape}>
      <button
        type="button"
        className="icon-button small"
        onClick={() => goTo(index - 1)}
        disabled={index <= 0}
        aria-label={t.stepBack}
        title="["
      >
        <ChevronLeft size={14} aria-hidden />
      </button>
      <div className="strip-track">
        <Bars frames={frames} version={version} until={index} />
        <input
          type="range"
          min={0}
          max={last}
          value={Math.max(0, index)}
          aria-label={t.look}
          aria-valuetext={
            frame && `#${frame.seq}, ${t.frame[frame.kind]}, ${formatClock(frame.at, language)}`
          }
          onChange={(event) => goTo(Number(event.target.value))}
        />
      </div>
      <button
        type="button"
        className="icon-button small"
        onClick={() => goTo(index + 1)}
        disabled={at === undefined}
        aria-label={t.stepForward}
        title="]"
      >
        <ChevronRight size={14} aria-hidden />
      </button>
      <span className="strip-at">
        {at === undefined ? (
          <>
            <Radio size={12} aria-hidden /> {t.present}
          </>
        ) : (
          `#${at}`
        )}
      </span>
    </div>
  );
}

const Bars = memo(function Bars({
  frames,
  version,
  until,
}: {
  frames: readonly Frame[];
  version: number;
  until: number;
}) {
  const bars = useMemo(() => barsOf(frames), [frames, version]);
  const edge = frames.length < 2 ? 1 : until / (frames.length - 1);
  return (
    <div className="bars" aria-hidden="true">
      {bars.map(({ kind, colour }, index) => (
        <span key={index} data-kind={kind} data-past={index / bars.length <= edge} {...agentColour(colour)} />
      ))}
    </div>
  );
});

const WEIGHT: Readonly<Record<Frame['kind'], number>> = {
  failed: 6,
  wait: 5,
  input: 4,
  action: 3,
  message: 2,
  tool: 1,
  result: 1,
  end: 0,
};

/** Frames, joined if there are many: the most important frame of each group. */
function barsOf(frames: readonly Frame[]): readonly Frame[] {
  if (frames.length <= MAX_BARS) return frames.slice();
  return Array.from({ length: MAX_BARS }, (_, bar) => {
    const from = Math.floor((bar * frames.length) / MAX_BARS);
    const to = Math.floor(((bar + 1) * frames.length) / MAX_BARS);
    return frames
      .slice(from, to)
      .reduce((best, frame) => (WEIGHT[frame.kind] > WEIGHT[best.kind] ? frame : best));
  });
}

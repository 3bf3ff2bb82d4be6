import { useId, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import type { Conflict } from './draft.ts';
import { FieldValue } from './field-value.tsx';
import type { Collision, Side, TextOf } from './merging.ts';

interface Props {
  about: Conflict<unknown>['about'];
  collisions: readonly Collision[];
  nameOf: (collision: Collision) => string;
  textOf?: TextOf | undefined;
  resolve: Conflict<unknown>['resolve'];
}

/** Asks whose version to keep at each place that both changed. All other changes of both are kept. */
export function CollisionForm({ about, collisions, nameOf, textOf, resolve }: Props) {
  const [choices, setChoices] = useState<ReadonlyMap<string, Side>>(new Map());
  const [isRefused, setRefused] = useState(false);
  const chooseAll = (side: Side) => setChoices(new Map(collisions.map(({ name }) => [name, side])));
  const isComplete = collisions.every(({ name }) => choices.has(name));
  const theirs = about === 'draft' ? 'Theirs' : 'Published';
  return (
    <>
      <p>All other changes of both are kept.</p>
      <div className="actions">
        <Button onClick={() => chooseAll('mine')}>All mine</Button>
        <Button onClick={() => chooseAll('theirs')}>
          {about === 'draft' ? 'All theirs' : 'All published'}
        </Button>
      </div>
      {collisions.map((collision) => (
        <Question
          key={collision.name}
          {...{ collision, theirs, textOf }}
          label={nameOf(collision)}
          chosen={choices.get(collision.name) ?? null}
          onChoose={(side) => setChoices(new Map(choices).set(collision.name, side))}
        />
      ))}
      {isRefused && <Notice tone="bad">These do not fit together. Choose differently.</Notice>}
      <div className="actions">
        <Button kind="primary" disabled={!isComplete} onClick={() => setRefused(!resolve(choices))}>
          Use these
        </Button>
      </div>
    </>
  );
}

function Question({
  collision,
  label,
  theirs,
  chosen,
  onChoose,
  textOf,
}: {
  collision: Collision;
  label: string;
  theirs: string;
  chosen: Side | null;
  onChoose: (side: Side) => void;
  textOf: Props['textOf'];
}) {
  const group = useId();
  return (
    <fieldset className="collision">
      <legend>{label}</legend>
      <div className="versions">
        {(['mine', 'theirs'] as const).map((side) => (
          <label key={side} className="collision-side">
            <span>
              <input type="radio" name={group} checked={chosen === side} onChange={() => onChoose(side)} />{' '}
              {side === 'mine' ? 'Mine' : theirs}
            </span>
            <div>
              <FieldValue path={collision.path} value={collision[side]} textOf={textOf} />
            </div>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

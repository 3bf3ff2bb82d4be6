import type { ReactNode } from 'react';
import { Card } from '../../../ui/facts.tsx';
import { idOfPlace, PLACES, type PlaceName } from './place.ts';

/** A part of the desk, to which the check leads. */
export function DeskPart({
  name,
  actions,
  children,
}: {
  name: PlaceName;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div id={idOfPlace(name)} tabIndex={-1} className="desk-part">
      <Card title={PLACES[name]} {...(actions === undefined ? {} : { actions })}>
        {children}
      </Card>
    </div>
  );
}

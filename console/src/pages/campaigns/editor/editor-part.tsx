import type { ReactNode } from 'react';
import { Card } from '../../../ui/details.tsx';
import { idOfPart, PARTS, type PartName } from './part.ts';

/** A part of the editor, which the results of the check link to. */
export function EditorPart({
  name,
  actions,
  children,
}: {
  name: PartName;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div id={idOfPart(name)} tabIndex={-1} className="editor-part">
      <Card title={PARTS[name]} {...(actions === undefined ? {} : { actions })}>
        {children}
      </Card>
    </div>
  );
}

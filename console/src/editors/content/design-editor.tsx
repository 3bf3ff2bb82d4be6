import { useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { isAt, type Problem } from './checked.ts';
import type { Design, Section } from './content.ts';
import { type Letter, LetterProvider } from './letter-context.ts';
import { SectionList } from './section-list.tsx';
import type { SectionPath } from './sections.ts';
import { ThemeForm } from './theme-form.tsx';

/** Edits the sections and the theme of a design. */
export function DesignEditor({
  design,
  names,
  problems,
  onChange,
  onSource,
}: {
  design: Design;
  names: readonly string[];
  problems: readonly Problem[];
  onChange: (next: (design: Design) => Design) => void;
  onSource: () => void;
}) {
  const [opened, open] = useState<string | null>(null);
  const [dragged, drag] = useState<SectionPath | null>(null);
  const [said, say] = useState('');
  const waiting = useRef<string | null>(null);
  const { sections, theme } = design;
  const letter: Letter = {
    sections,
    change: (next: (sections: readonly Section[]) => Section[]) =>
      onChange((old) => ({ ...old, sections: next(old.sections) })),
    problemsAt: (path) => problems.filter(({ field }) => isAt(field, path)),
    names,
    opened,
    open,
    dragged,
    drag,
    say,
    focusOn: (key) => {
      waiting.current = key;
    },
    takesFocus(key) {
      if (waiting.current !== key) return false;
      waiting.current = null;
      return true;
    },
  };
  return (
    <LetterProvider value={letter}>
      <div className="actions">
        <span className="grow" />
        <Button onClick={onSource}>Write source instead</Button>
      </div>
      <SectionList list={[]} sections={sections} label="Sections" />
      <ThemeForm
        theme={theme}
        problems={problems}
        onChange={(next) => onChange((old) => ({ ...old, theme: next }))}
      />
      <p role="status" className="visually-hidden">
        {said}
      </p>
    </LetterProvider>
  );
}

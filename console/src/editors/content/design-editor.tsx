import { useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { isAt, type Problem } from './checked.ts';
import type { Design, Section } from './content.ts';
import { type Letter, LetterProvider } from './letter-context.ts';
import { SectionList } from './section-list.tsx';
import { keyOf } from './section-keys.ts';
import { type SectionPath, withoutRepeats } from './sections.ts';
import { ThemeForm } from './theme-form.tsx';

/** @returns the key of the first text; null if there is none */
function firstText(sections: readonly Section[]): string | null {
  const text = sections.find(({ type }) => type === 'text');
  return text ? keyOf(text) : null;
}

/** Edits the sections and the theme of a design. */
export function DesignEditor({
  design,
  names,
  problems,
  opensText = false,
  hasSource,
  onChange,
  onSource,
}: {
  design: Design;
  names: readonly string[];
  problems: readonly Problem[];
  /** Whether its first text is open at once, because the design was just chosen. */
  opensText?: boolean;
  /** Whether a source is put aside. */
  hasSource: boolean;
  onChange: (next: (design: Design) => Design) => void;
  onSource: () => void;
}) {
  const { theme } = design;
  // React would draw a section that occurs twice only once, and the other one would seem to be lost.
  const sections = withoutRepeats(design.sections);
  const [opened, open] = useState(() => (opensText ? firstText(sections) : null));
  const [dragged, drag] = useState<SectionPath | null>(null);
  const [said, say] = useState('');
  const waiting = useRef<string | null>(null);
  const letter: Letter = {
    sections,
    change: (next: (sections: readonly Section[]) => Section[]) =>
      onChange((old) => ({ ...old, sections: next(withoutRepeats(old.sections)) })),
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
        {hasSource && <span className="hint">The source stays in this draft until you publish.</span>}
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

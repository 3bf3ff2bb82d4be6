import { Button } from '../../ui/button.tsx';
import type { Section } from './content.ts';
import { STARTERS } from './starters.ts';

/** Asks how a letter begins. */
export function StarterGallery({
  onChoose,
  onSource,
}: {
  onChoose: (sections: Section[]) => void;
  onSource: () => void;
}) {
  return (
    <section aria-label="Designs">
      <h3>Choose a design</h3>
      <p className="hint">
        It has the logo, the colors and the fonts of the brand. Everything can be changed.
      </p>
      <ul className="starters">
        {STARTERS.map(({ name, hint, sections }) => (
          <li key={name}>
            <button type="button" className="starter" onClick={() => onChoose(sections())}>
              <span className="starter-sheet" aria-hidden="true">
                <Outline sections={sections()} />
              </span>
              <strong>{name}</strong>
              <span className="hint">{hint}</span>
            </button>
          </li>
        ))}
      </ul>
      <div className="actions">
        <Button onClick={onSource}>Write source instead</Button>
      </div>
    </section>
  );
}

/** The kinds of sections of a design, as small shapes. */
function Outline({ sections }: { sections: readonly Section[] }) {
  return sections.map((section, index) => (
    // The shapes stay as they are.
    <span key={index} className={`shape ${section.type}`}>
      {section.type === 'columns' &&
        section.props.columns.map((column, at) => (
          <span key={at} className="shape-column">
            <Outline sections={column.sections} />
          </span>
        ))}
    </span>
  ));
}

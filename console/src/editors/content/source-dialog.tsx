import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import type { Design } from './content.ts';
import { problemText } from './problem-words.ts';

/**
 * Asks before a letter is edited as source instead of as a design.
 * @param aside the source that was put aside in this draft; '' if there is none
 * @param onChoose receives the source
 */
export function SourceDialog({
  design,
  aside,
  onChoose,
  onClose,
}: {
  design: Design;
  aside: string;
  onChoose: (source: string) => void;
  onClose: () => void;
}) {
  const convert = useAction({
    work: () => call(() => api.POST('/v1/my/templates/html', { body: { design } })),
    refresh: [],
    fields: [],
    onDone: ({ html }) => html !== null && onChoose(html),
  });
  const problems = convert.result?.html === null ? convert.result.problems : [];
  return (
    <Dialog open onClose={onClose} title="Write the letter as source?">
      <p>
        The source begins with the HTML of the design. The design is put aside: it stays in this draft, and
        you can go back to it until you publish.
      </p>
      {convert.fault !== null && <Notice tone="bad">{convert.fault}</Notice>}
      {problems.length > 0 && (
        <Notice tone="bad" title="The design has errors, so it cannot become HTML yet">
          {problems.map((problem) => problemText(problem, design)).join('\n')}
        </Notice>
      )}
      <div className="actions">
        <Button kind="primary" busy={convert.busy} onClick={() => convert.run()}>
          Begin with the HTML of the design
        </Button>
        {aside !== '' && (
          <Button onClick={() => onChoose(aside)}>Continue with the source that was put aside</Button>
        )}
        <Button onClick={onClose}>Keep the design</Button>
      </div>
    </Dialog>
  );
}

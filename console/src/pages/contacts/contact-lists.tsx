import { useListChoices } from '../../api/audience.ts';
import { labelOf } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { useMemberChange } from '../lists/list-members.ts';

/** The lists that a contact is in. */
export function ContactLists({ contact }: { contact: Schemas['Contact'] }) {
  const lists = useListChoices();
  const change = useMemberChange();
  const nameOf = (id: number) => labelOf(lists, id, `List ${id}`);
  const others = lists.filter(({ value }) => !contact.list_ids.includes(Number(value)));
  const run = (listId: number, kind: 'add' | 'remove') => change.run({ listId, contactId: contact.id, kind });
  return (
    <Card title="Lists">
      {contact.list_ids.length === 0 && <p className="muted">In no list.</p>}
      <ul className="plain">
        {contact.list_ids.map((id) => (
          <li key={id} className="actions">
            <BrandLink to={`/lists/${id}`}>{nameOf(id)}</BrandLink>
            <span className="grow" />
            <Button
              kind="quiet"
              disabled={change.busy}
              aria-label={`Remove from ${nameOf(id)}`}
              onClick={() => run(id, 'remove')}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <Field label="Add to a list">
          <Select
            value=""
            disabled={change.busy}
            options={[{ value: '', label: 'Choose a list' }, ...others]}
            onChange={(event) => event.target.value !== '' && run(Number(event.target.value), 'add')}
          />
        </Field>
      )}
    </Card>
  );
}

import type { Schemas } from '../../api/client.ts';
import { fullNameOf } from '../../ui/contact-text.ts';
import { BrandLink } from '../../ui/links.tsx';

type Run = Pick<Schemas['FlowRunSummary'], 'contact_id' | 'contact'>;

/** Who takes the steps of a run: by name, else by an address. A deleted contact has only its id. */
export function RunContact({ run: { contact_id: id, contact } }: { run: Run }) {
  if (!contact) return <span className="muted">Contact {id}, deleted</span>;
  const name = fullNameOf(contact);
  const address = contact.email ?? contact.phone;
  return (
    <>
      <BrandLink to={`/contacts/${id}`}>{name || (address ?? `Contact ${id}`)}</BrandLink>
      {name !== '' && address !== null && <span className="muted"> {address}</span>}
    </>
  );
}

/** Why one contact is in what filters select, or is not. */
import { useQuery } from '@tanstack/react-query';
import { useAudienceNames } from '../../api/audience.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { StatusBadge } from '../../ui/details.tsx';
import { FilterList } from '../../ui/filter-list.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { contactName } from '../../ui/contact-text.ts';
import { contactValueText } from './contact-values.ts';
import type { Filters } from './preview.ts';

type Match = NonNullable<Schemas['SegmentPreview']['match']>;

const useContact = (id: number) =>
  useQuery({
    queryKey: ['contacts', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/contacts/{id}', { params: { path: { id } }, signal })),
  });

/** @param props.filters those that the match is about */
export function SegmentWhy({ match, filters }: { match: Match; filters: Filters }) {
  const names = useAudienceNames();
  const { data: contact } = useContact(match.contact_id);
  const results = new Map(match.filters.map(({ path, matches }) => [path, matches]));
  const name = contact ? contactName(contact) : `Contact ${match.contact_id}`;
  const noteOf = (filter: Schemas['Filter'], path: string) => {
    const matches = results.get(path);
    if (matches === undefined) return null;
    const has = contact ? contactValueText(contact, filter.name) : null;
    return (
      <>
        <StatusBadge status={matches ? 'matches' : 'does not match'} tone={matches ? 'good' : 'bad'} />
        {has !== null && <span className="muted"> has {has}</span>}
      </>
    );
  };
  return (
    <div role="status">
      <p>
        <BrandLink to={`/contacts/${match.contact_id}`}>{name}</BrandLink> is{' '}
        <strong>{match.matches ? 'in the segment' : 'not in the segment'}</strong>.
      </p>
      <FilterList filters={filters} names={names} noteOf={noteOf} />
    </div>
  );
}

import { useQuery } from '@tanstack/react-query';
import { Command } from 'cmdk';
import { useOwnBrand } from '../../api/brand.ts';
import { api, callPage } from '../../api/client.ts';
import { rank } from '../../ui/rank.ts';
import { useFilterNames } from '../filters/names.ts';
import { isName } from './liquid-value.ts';
import { valueGroups } from './value-choices.ts';

const EXAMPLES = { limit: 25 } as const;
const STALE_MS = 60_000;

function useValueGroups(names: readonly string[]) {
  const { data: keys } = useFilterNames();
  const { data: contacts } = useQuery({
    queryKey: ['contacts', 'examples'],
    staleTime: STALE_MS,
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/contacts', { params: { query: EXAMPLES }, signal })),
  });
  const brand = useOwnBrand();
  return valueGroups(names, {
    data: keys.map(({ path }) => path),
    contacts: contacts?.rows ?? [],
    brand,
  });
}

/** Finds a value by its name or words, by mouse or arrow keys. A name that is not listed can be typed. */
export function ValueList({
  text,
  names,
  onType,
  onPick,
}: {
  text: string;
  names: readonly string[];
  onType: (text: string) => void;
  onPick: (name: string) => void;
}) {
  const groups = useValueGroups(names);
  const typed = text.trim();
  const isOwn = isName(typed) && !groups.some(([, items]) => items.some(({ name }) => name === typed));
  return (
    <Command label="Value" filter={rank} className="value-list">
      <Command.Input
        className="input"
        placeholder="Search, or type a name such as order.total"
        autoFocus
        value={text}
        onValueChange={onType}
      />
      <Command.List>
        <Command.Empty>No such value.</Command.Empty>
        {groups.map(([group, items]) => (
          <Command.Group key={group} heading={group}>
            {items.map(({ name, label, example }) => (
              <Command.Item key={name} value={name} keywords={[label]} onSelect={() => onPick(name)}>
                <span>{label}</span>
                <span className="muted">{example ?? <code>{name}</code>}</span>
              </Command.Item>
            ))}
          </Command.Group>
        ))}
        {isOwn && (
          <Command.Item value={`${typed} typed`} onSelect={() => onPick(typed)}>
            <span>Use “{typed}”</span>
            <span className="muted">another name</span>
          </Command.Item>
        )}
      </Command.List>
    </Command>
  );
}

import { Command } from 'cmdk';
import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { api, call, type Schemas } from '../api/client.ts';
import { useNewTemplate } from '../pages/templates/new-template.tsx';
import { StatusBadge } from '../ui/details.tsx';
import { useOpen } from '../ui/links.tsx';
import { rank } from '../ui/rank.ts';
import { useBrand } from './brand.ts';
import { navigation } from './navigation.ts';
import { setPaletteOpen } from './palette-state.ts';
import { pageOfResource, type ResourcePage } from './resource-pages.ts';

const MIN_LETTERS = 2;

/** Finds pages by name, and resources by address, id or name. */
export function PaletteWindow() {
  const { manages } = useBrand();
  const openPage = useOpen();
  const [text, setText] = useState('');
  const asked = useDeferredValue(text.trim());
  const found = useQuery({
    queryKey: ['search', asked],
    enabled: asked.length >= MIN_LETTERS,
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/search', { params: { query: { q: asked } }, signal })),
  });
  const go = ({ to, search }: ResourcePage) => {
    openPage(to, search);
    setPaletteOpen(false);
  };
  return (
    <Command.Dialog
      open
      onOpenChange={setPaletteOpen}
      label="Go to a page or a resource"
      filter={rank}
      overlayClassName="overlay"
      contentClassName="dialog palette"
    >
      <Command.Input
        className="input"
        placeholder="A page, an address, an id or a name"
        value={text}
        onValueChange={setText}
      />
      <Command.List>
        <Command.Empty>{found.isFetching ? 'Searching…' : 'Nothing found.'}</Command.Empty>
        {navigation.map(({ title, items }) => (
          <Command.Group key={title} heading={title}>
            {items
              .filter((item) => manages || item.managersOnly !== true)
              .map((item) => (
                <Command.Item
                  key={item.to}
                  value={`${item.text} ${title}`}
                  onSelect={() => go({ to: item.to })}
                >
                  {item.text}
                </Command.Item>
              ))}
          </Command.Group>
        ))}
        <New />
        <Found results={found.data ?? []} asked={asked} go={go} />
      </Command.List>
    </Command.Dialog>
  );
}

/** What can be created from anywhere. The window stays until it is created, and then its page opens. */
function New() {
  const { run, busy } = useNewTemplate(() => setPaletteOpen(false));
  return (
    <Command.Group heading="New">
      {(['email', 'sms'] as const).map((channel) => (
        <Command.Item
          key={channel}
          value={`New template ${channel}`}
          disabled={busy}
          onSelect={() => run(channel)}
        >
          {channel === 'email' ? 'New template for email' : 'New template for SMS'}
        </Command.Item>
      ))}
    </Command.Group>
  );
}

function Found({
  results,
  asked,
  go,
}: {
  results: Schemas['SearchResult'][];
  asked: string;
  go: (page: ResourcePage) => void;
}) {
  const items = results.flatMap((result) => {
    const page = pageOfResource(result);
    return page === null ? [] : [{ ...result, page }];
  });
  if (items.length === 0) return null;
  return (
    <Command.Group heading="Found">
      {items.map((item) => (
        <Command.Item
          key={`${item.type} ${item.id}`}
          value={`${item.type} ${item.id}`}
          keywords={[asked, item.title ?? '']}
          onSelect={() => go(item.page)}
        >
          <span>{item.title ?? `${item.type.replaceAll('_', ' ')} ${item.id}`}</span>
          <span className="muted">
            {item.status !== null && <StatusBadge status={item.status} />} {item.type.replaceAll('_', ' ')}{' '}
            {item.id}
          </span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}

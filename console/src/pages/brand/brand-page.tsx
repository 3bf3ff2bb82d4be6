import { useQuery } from '@tanstack/react-query';
import { brandQuery } from '../../api/brand.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { Card } from '../../ui/details.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { PreviewFrame } from '../../ui/preview-frame.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { BrandForm } from './brand-form.tsx';
import { LogoCard } from './logo-card.tsx';
import { ScrapeCard } from './scrape-card.tsx';

/** A letter with the parts that use the colors, the fonts and the logo of the brand. */
const SAMPLE = {
  subject: 'How your brand looks',
  footer: 'marketing',
  design: {
    sections: [
      { type: 'header', props: { title: 'Welcome' } },
      {
        type: 'text',
        props: { html: '<p>This is how a letter looks in the colors and fonts of your brand.</p>' },
      },
      { type: 'button', props: { label: 'Take a look', href: 'https://example.com' } },
    ],
  },
} as const;

/** Who the messages are from, and how they look. */
export function BrandPage() {
  const query = useQuery({
    ...brandQuery,
    // While a website is read, the brand is loaded again.
    refetchInterval: ({ state }) => (state.data?.data?.scrape?.status === 'scraping' ? POLL_MS : false),
  });
  return (
    <>
      <PageHeader title="Brand">
        <p className="muted">Who your messages are from, and how they look.</p>
      </PageHeader>
      <QueryView query={query}>
        {({ data: brand, etag }) =>
          brand && (
            <div className="grid">
              <BrandForm key={brand.revision} brand={brand} etag={etag} />
              <div className="stack">
                <ScrapeCard scrape={brand.scrape} />
                <LogoCard logo={brand.logo} />
                <Card title="Preview">
                  <PreviewFrame
                    key={brand.revision}
                    of={{ content: { ...SAMPLE, design: { sections: [...SAMPLE.design.sections] } } }}
                    title="A letter in the look of the brand"
                    height={520}
                  />
                </Card>
              </div>
            </div>
          )
        }
      </QueryView>
    </>
  );
}

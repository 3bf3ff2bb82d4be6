import { useQuery } from '@tanstack/react-query';
import { api, callWithTag, type Schemas } from '../../api/client.ts';
import { unsavedOf } from '../../editors/content/checked.ts';
import type { operations } from '../../api/schema.d.ts';
import { LETTER_FIELDS, withoutDraftFields } from '../../editors/content/content.ts';
import { ContentEditor } from '../../editors/content/content-editor.tsx';
import { DraftBar } from '../../editors/draft/draft-bar.tsx';
import type { Draft } from '../../editors/draft/draft.ts';
import { isSame } from '../../editors/draft/same.ts';
import { useDraft } from '../../editors/draft/use-draft.ts';
import { useAction } from '../../ui/action.ts';
import { Card, DetailList } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { PreviewFrame } from '../../ui/preview-frame.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { OwnerLink, templateName } from './owner-link.tsx';
import { templateForm, type TemplateContent } from './read-draft.ts';

type Template = Schemas['Template'];
type Changes = NonNullable<operations['changeTemplate']['requestBody']>['content']['application/json'];

const FIELDS = ['name', ...LETTER_FIELDS, 'content_from'] as const;

const contentOf = (template: Template): TemplateContent => {
  const entries = FIELDS.map((field) => [field, template[field]]);
  return Object.fromEntries(entries) as TemplateContent;
};

/** What differs from what is live. If both body and design were sent, the API could not know which one is meant. */
const changesOf = (content: TemplateContent, live: TemplateContent): Changes => {
  const changed = Object.entries(withoutDraftFields(content)).filter(
    ([name, value]) => name !== 'content_from' && !isSame(value, live[name]),
  );
  return Object.fromEntries(changed);
};

/** Edits a template of the brand. Messages use what is published. */
export function TemplateEditPage() {
  const id = useId('templateId');
  const query = useQuery({
    queryKey: ['templates', id, 'edit'],
    queryFn: ({ signal }) =>
      callWithTag(() => api.GET('/v1/my/templates/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <QueryView query={query}>
      {({ data: template, etag }) =>
        template.campaign_id === null && template.flow_id === null ? (
          <TemplateEditor key={id} template={template} etag={etag} />
        ) : (
          <>
            <PageHeader title={templateName(template)} />
            <p>
              This is the content of <OwnerLink template={template} />. Edit it there.
            </p>
          </>
        )
      }
    </QueryView>
  );
}

function usePublish(template: Template, draft: Draft<TemplateContent>) {
  const { id } = template;
  return useAction({
    work: () =>
      draft.publish(async (content, tag) => {
        const { data, etag } = await callWithTag(() =>
          api.PATCH('/v1/my/templates/{id}', {
            params: { path: { id }, header: { 'If-Match': tag } },
            body: changesOf(content, contentOf(template)),
          }),
        );
        return { content: contentOf(data), etag, at: data.updated_at };
      }),
    done: 'The template is published.',
    refresh: ['templates', 'drafts'],
    fields: ['name'],
  });
}

function TemplateEditor({ template, etag }: { template: Template; etag: string }) {
  const { id, channel } = template;
  const published = { content: contentOf(template), etag, at: template.updated_at };
  const draft = useDraft({ kind: 'templates', id }, published, templateForm);
  const { content, change } = draft;
  const publish = usePublish(template, draft);
  return (
    <>
      <PageHeader
        title={content.name || templateName(template)}
        actions={<BrandLink to={`/templates/${id}`}>Back to the template</BrandLink>}
      />
      <Field label="Name" hint="Recipients do not see it." error={publish.errorOf('name')}>
        <TextInput
          value={content.name ?? ''}
          onChange={({ target }) => change((before) => ({ ...before, name: target.value }))}
        />
      </Field>
      <ContentEditor
        value={content}
        onChange={(next) => change((before) => ({ ...before, ...next }))}
        channel={channel}
        footer="none"
      />
      {publish.fault !== null && <Notice tone="bad">{publish.fault}</Notice>}
      <DraftBar
        draft={draft}
        onPublish={() => publish.run()}
        busy={publish.busy}
        showVersion={(version) => <Version content={version} channel={channel} />}
      />
    </>
  );
}

/** A version to someone who chooses one: its fields, and how an email looks. */
function Version({ content, channel }: { content: TemplateContent; channel: Template['channel'] }) {
  const { name, subject, preheader, body } = content;
  const { variables, ...unsaved } = unsavedOf({ value: content, channel, footer: 'none' });
  return (
    <Card>
      <DetailList
        items={[
          ['Name', name],
          ...(channel === 'email'
            ? ([
                ['Subject', subject],
                ['Preheader', preheader],
              ] as const)
            : ([['Text', body]] as const)),
        ]}
      />
      {channel === 'email' && (
        <PreviewFrame of={{ content: unsaved, variables }} title="Preview of this version" height={320} />
      )}
    </Card>
  );
}

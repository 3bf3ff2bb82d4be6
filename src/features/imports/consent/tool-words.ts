import type { WordTable } from './words.ts';

/**
 * The words of each tool's status column. Sources: the public documentation of the tools' exports and APIs, and public
 * importers of such files.
 */
export const toolWords: Readonly<Record<string, WordTable>> = {
  // listmonk.app/docs/concepts: states of a subscriber, and of a subscription to a list
  listmonk: { subscribed: ['enabled'], unsubscribed: ['disabled', 'blocklisted', 'blacklisted'] },
  'listmonk lists': {
    subscribed: ['confirmed'],
    pending: ['unconfirmed'],
    unsubscribed: ['unsubscribed'],
  },
  // mailchimp.com/developer: status of a list member
  Mailchimp: {
    subscribed: ['subscribed'],
    never_subscribed: ['transactional', 'nonsubscribed'],
    pending: ['pending'],
    bounced: ['cleaned'],
    unsubscribed: ['unsubscribed', 'archived'],
  },
  // help.klaviyo.com: consent in profiles; reasons of suppressions
  Klaviyo: {
    subscribed: ['subscribed', 'subscribe'],
    never_subscribed: ['neversubscribed', 'notsubscribed', 'nonsubscribed'],
    bounced: ['hardbounce', 'hardbounced', 'invalidemail', 'bounced'],
    unsubscribed: [
      'unsubscribed',
      'unsubscribe',
      'suppressed',
      'usersuppressed',
      'manualsuppressed',
      'manual',
    ],
    complained: ['spamcomplaint', 'markedasspam'],
  },
  // knowledge.hubspot.com: email subscription types, marketing contacts, double opt-in
  HubSpot: {
    subscribed: ['subscribed', 'optedin', 'optin', 'confirmed', 'marketingcontact', 'setasmarketing'],
    never_subscribed: ['notspecified', 'nonmarketingcontact', 'setasnonmarketing', 'notoptedin'],
    pending: ['doubleoptinpending', 'unconfirmed'],
    unsubscribed: ['unsubscribed', 'optedout', 'optout', 'unsubscribedfromall'],
  },
  // help.brevo.com: export of contacts
  Brevo: {
    subscribed: ['subscribed', 'available', 'notblacklisted', 'notblocklisted'],
    bounced: ['hardbounced', 'hardbounce'],
    unsubscribed: ['unsubscribed', 'blacklisted', 'blocklisted', 'adminblocked', 'blocked'],
    complained: ['complaint', 'spam'],
  },
  // postmarkapp.com/developer: SuppressionReason
  Postmark: {
    bounced: ['hardbounce'],
    unsubscribed: ['manualsuppression'],
    complained: ['spamcomplaint'],
  },
  // shopify.dev: CustomerEmailMarketingState
  Shopify: {
    subscribed: ['subscribed'],
    never_subscribed: ['notsubscribed'],
    pending: ['pending'],
    bounced: ['invalid'],
    unsubscribed: ['unsubscribed', 'redacted'],
  },
  // support.wix.com: export of contacts
  Wix: {
    subscribed: ['subscribed'],
    never_subscribed: ['neversubscribed', 'notsubscribed', 'notset', 'unknown'],
    pending: ['pending'],
    unsubscribed: ['unsubscribed'],
  },
  // developers.mailerlite.com: status of a subscriber
  MailerLite: {
    subscribed: ['active'],
    pending: ['unconfirmed'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed'],
    complained: ['junk', 'spam'],
  },
  // developers.kit.com: state of a subscriber
  Kit: {
    subscribed: ['active', 'confirmed'],
    pending: ['unconfirmed', 'inactive'],
    bounced: ['bounced'],
    unsubscribed: ['cancelled', 'canceled', 'unsubscribed'],
    complained: ['complained'],
  },
  // developers.activecampaign.com: status of a contact in a list
  ActiveCampaign: {
    subscribed: ['active', 'subscribed'],
    pending: ['unconfirmed'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed'],
  },
  // developers.beehiiv.com: status of a subscription
  beehiiv: {
    subscribed: ['active'],
    pending: ['pending', 'validating', 'needsattention'],
    bounced: ['invalid'],
    unsubscribed: ['inactive', 'paused'],
  },
  // developer.drip.com: status of a subscriber
  Drip: {
    subscribed: ['active'],
    pending: ['unconfirmed'],
    bounced: ['undeliverable', 'bounced'],
    unsubscribed: ['unsubscribed', 'removed', 'inactive', 'deactivated'],
    complained: ['complained'],
  },
  // docs.buttondown.com: type of a subscriber
  Buttondown: {
    subscribed: ['regular', 'premium', 'gifted', 'trialed', 'churning', 'churned', 'pastdue'],
    pending: ['unactivated', 'upcoming'],
    bounced: ['undeliverable'],
    unsubscribed: ['unsubscribed', 'removed', 'spammy', 'blocked', 'disabled', 'paused'],
    complained: ['complained'],
  },
  // campaignmonitor.com/api: State of a subscriber
  'Campaign Monitor': {
    subscribed: ['active'],
    pending: ['unconfirmed'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed', 'deleted'],
  },
  // developer.constantcontact.com: permission_to_send, and the export's email status
  'Constant Contact': {
    subscribed: ['active', 'implicit', 'explicit', 'implied', 'express', 'confirmed'],
    never_subscribed: ['notset', 'nopermissionsset', 'nopermission'],
    pending: ['pendingconfirmation', 'awaitingconfirmation', 'unconfirmed', 'temphold'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed', 'optout', 'optedout', 'removed'],
  },
  // support.omnisend.com: statuses of contacts
  Omnisend: {
    subscribed: ['subscribed'],
    never_subscribed: ['nonsubscribed', 'nonsubscriber'],
    unsubscribed: ['unsubscribed'],
  },
  // help.aweber.com, api.aweber.com: status of a subscriber
  AWeber: {
    subscribed: ['subscribed'],
    pending: ['unconfirmed', 'pending'],
    unsubscribed: ['unsubscribed'],
  },
  // sendy.co: export of a list
  Sendy: {
    subscribed: ['subscribed', 'softbounced'],
    pending: ['unconfirmed'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed'],
    complained: ['markedasspam', 'complained'],
  },
  // kb.mailpoet.com: states of subscribers
  MailPoet: {
    subscribed: ['subscribed'],
    pending: ['unconfirmed'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed', 'inactive', 'trash'],
  },
  // thenewsletterplugin.com: status of a subscriber
  'The Newsletter Plugin': {
    subscribed: ['c', 'confirmed'],
    pending: ['s', 'notconfirmed'],
    bounced: ['b', 'bounced'],
    unsubscribed: ['u', 'unsubscribed'],
    complained: ['p', 'complained'],
  },
  // emailoctopus.com/api-documentation: status of a contact
  EmailOctopus: { subscribed: ['subscribed'], pending: ['pending'], unsubscribed: ['unsubscribed'] },
  // braze.com/docs: email_subscribe
  Braze: { subscribed: ['optedin', 'subscribed'], unsubscribed: ['unsubscribed'] },
  // segment.com/docs/engage: email_subscription_status
  Segment: {
    subscribed: ['subscribed'],
    never_subscribed: ['didnotsubscribe'],
    unsubscribed: ['unsubscribed'],
  },
  // developer.salesforce.com: SubscriberStatus
  'Salesforce Marketing Cloud': {
    subscribed: ['active'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed', 'held', 'deleted'],
  },
  // clientsupport.benchmarkemail.com: Status of a contact
  Benchmark: {
    subscribed: ['active'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed', 'dnc', 'inactive'],
  },
  // pipedrive.readme.io: marketing_status of a person
  Pipedrive: {
    subscribed: ['subscribed'],
    never_subscribed: ['noconsent'],
    unsubscribed: ['unsubscribed', 'archived'],
  },
  // elasticemail.com/developers: ContactStatus
  'Elastic Email': {
    subscribed: ['active', 'engaged'],
    never_subscribed: ['transactional'],
    pending: ['notconfirmed'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed', 'inactive', 'stale'],
    complained: ['abuse', 'complaint', 'complaints'],
  },
  // api.myemma.com: member_status
  Emma: { subscribed: ['active'], bounced: ['error'], unsubscribed: ['optout', 'optedout', 'archived'] },
  // squareup.com/help: export of the customer directory
  Square: {
    subscribed: ['subscribed'],
    never_subscribed: ['notsubscribed', 'unknown'],
    bounced: ['bounced'],
    unsubscribed: ['unsubscribed'],
  },
  // help.moosend.com, help.acumbamail.com, help.sender.net: states of subscribers
  Moosend: {
    subscribed: ['subscribed', 'active'],
    pending: ['unconfirmed'],
    bounced: ['bounced', 'hardbounced'],
    unsubscribed: ['unsubscribed', 'removed', 'archived'],
    complained: ['complained', 'spamreported', 'spam'],
  },
  // keila.io/docs: status of a contact
  Keila: { subscribed: ['active'], bounced: ['unreachable'], unsubscribed: ['unsubscribed'] },
  // experienceleague.adobe.com: newsletter subscribers of Magento
  Magento: {
    subscribed: ['subscribed'],
    pending: ['notactivated', 'notactive', 'unconfirmed'],
    unsubscribed: ['unsubscribed'],
  },
  // developer.dotdigital.com: status of a contact
  Dotdigital: {
    subscribed: ['subscribed', 'softbounced'],
    pending: ['pendingoptin'],
    bounced: ['hardbounced'],
    unsubscribed: ['unsubscribed', 'mailblocked', 'suppressed', 'globallysuppressed', 'deleted'],
    complained: ['ispcomplained', 'directcomplaint'],
  },
};

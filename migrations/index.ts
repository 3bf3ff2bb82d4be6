import * as tenants from './0001_tenants.ts';
import * as sending from './0002_sending.ts';
import * as engineAndWebhooks from './0003_engine_and_webhooks.ts';
import * as capture from './0004_capture.ts';
import * as systemAccount from './0005_system_account.ts';
import * as messageUpdates from './0006_message_updates.ts';
import * as handOver from './0007_hand_over.ts';
import * as sendingLocks from './0008_sending_locks.ts';
import * as processLocks from './0009_process_locks.ts';
import * as messageResponse from './0010_message_response.ts';
import * as messageRanges from './0011_message_ranges.ts';
import * as heldBacklogs from './0012_held_backlogs.ts';
import * as quotas from './0013_quotas.ts';
import * as rateLimitBuckets from './0014_rate_limit_buckets.ts';
import * as contentWeight from './0015_content_weight.ts';
import * as sendingIdentities from './0016_sending_identities.ts';
import * as domains from './0017_domains.ts';
import * as providerRouting from './0018_provider_routing.ts';
import * as callbackTokens from './0019_callback_tokens.ts';
import * as tracking from './0020_tracking.ts';
import * as operatorMails from './0021_operator_mails.ts';
import * as suppressions from './0022_suppressions.ts';
import * as smsSenders from './0023_sms_senders.ts';
import * as audience from './0024_audience.ts';
import * as contacts from './0025_contacts.ts';
import * as imports from './0029_imports.ts';
import * as providerRegistrations from './0030_provider_registrations.ts';
import * as exports from './0032_exports.ts';
import * as contactTags from './0033_contact_tags.ts';
import * as templates from './0034_templates.ts';
import * as campaigns from './0035_campaigns.ts';
import * as campaignLists from './0037_campaign_lists.ts';
import * as campaignRuns from './0038_campaign_runs.ts';
import * as campaignSending from './0039_campaign_sending.ts';
import * as smsStopText from './0040_sms_stop_text.ts';
import * as unappliedOptOuts from './0041_unapplied_opt_outs.ts';
import * as installation from './0042_installation_and_domain_rates.ts';
import * as flows from './0043_flows.ts';
import * as flowEntries from './0045_flow_entries.ts';
import * as flowCounts from './0046_flow_counts.ts';
import * as campaignSpeed from './0047_campaign_speed.ts';
import * as unnamedVersions from './0048_unnamed_versions.ts';
import * as money from './0049_money.ts';
import * as wallet from './0050_wallet.ts';
import * as usage from './0051_usage.ts';
import * as validation from './0052_validation.ts';
import * as scrape from './0053_scrape.ts';
import * as flowBounds from './0055_flow_bounds.ts';
import * as scrapesOfAccount from './0056_scrapes_of_account.ts';
import * as validationCounts from './0057_validation_counts.ts';
import * as unknownCharges from './0058_unknown_charges.ts';
import * as validationQuotes from './0059_validation_quotes.ts';
import * as queuedAgain from './0060_queued_again.ts';
import * as purses from './0061_purses.ts';
import * as fewerSegments from './0062_fewer_segments.ts';
import * as pursesOfNewMonths from './0063_purses_of_new_months.ts';
import * as testMessages from './0065_test_messages.ts';
import * as importErrors from './0066_import_errors.ts';
import * as keptSmsKeywords from './0067_kept_sms_keywords.ts';
import * as removedRecipients from './0068_removed_recipients.ts';
import * as validatedSegments from './0069_validated_segments.ts';
import * as campaignHolds from './0070_campaign_holds.ts';
import * as campaignSums from './0071_campaign_sums.ts';
import * as blockSandbox from './0073_block_sandbox.ts';
import * as claimTurns from './0074_claim_turns.ts';
import * as flowPauses from './0075_flow_pauses.ts';
import * as loginNetworks from './0077_login_networks.ts';
import * as suppressionReleases from './0078_suppression_releases.ts';
import * as erasures from './0079_erasures.ts';
import * as listSizes from './0080_list_sizes.ts';
import * as listedTests from './0085_listed_tests.ts';
import * as templatesOfTestKeys from './0086_templates_of_test_keys.ts';
import * as testNames from './0087_test_names.ts';
import * as queuedFlows from './0088_queued_flows.ts';
import * as inboxes from './0089_inboxes.ts';
import * as sessions from './0090_sessions.ts';
import * as stats from './0091_stats.ts';
import * as invitationMails from './0092_invitation_mails.ts';
import * as audit from './0093_audit.ts';
import * as olderStats from './0094_older_stats.ts';
import * as revisions from './0095_revisions.ts';
import * as bulkActions from './0097_bulk_actions.ts';
import * as oauth from './0098_oauth.ts';
import * as mcp from './0099_mcp.ts';
import * as drafts from './0100_drafts.ts';
import * as keptUploads from './0101_kept_uploads.ts';
import * as draftBases from './0102_draft_bases.ts';
import * as lastHolds from './0103_last_holds.ts';
import * as plainMessages from './0104_plain_messages.ts';
import * as morePlainMessages from './0105_more_plain_messages.ts';
import * as pricedEmails from './0106_priced_emails.ts';
import * as importClaims from './0108_import_claims.ts';
import * as repeatedMail from './0109_repeated_mail.ts';
import * as inboxStorage from './0111_inbox_storage.ts';
import * as conversationBulkActions from './0112_conversation_bulk_actions.ts';
import * as storedKeys from './0115_stored_keys.ts';
import * as visibleLists from './0119_visible_lists.ts';
import * as campaignFilters from './0120_campaign_filters.ts';
import * as flowHeaderSecrets from './0123_flow_header_secrets.ts';
import * as namedAddresses from './0124_named_addresses.ts';
import * as accountBounds from './0125_account_bounds.ts';
import * as causedByMail from './0126_caused_by_mail.ts';
import * as earlierAnswers from './0127_earlier_answers.ts';
import * as flowMasks from './0128_flow_masks.ts';
import * as indexesOfStoredMail from './0129_indexes_of_stored_mail.ts';
import * as importConsent from './0130_import_consent.ts';
import * as importedOptOuts from './0131_imported_opt_outs.ts';
import * as comparedFilters from './0135_compared_filters.ts';
import * as importWarnings from './0137_import_warnings.ts';
import * as unreadReports from './0142_unread_reports.ts';
import * as mailDates from './0143_mail_dates.ts';
import * as raisedFunds from './0145_raised_funds.ts';
import * as comments from './0146_comments.ts';
import * as installedFunctions from './0147_installed_functions.ts';
import * as letters from './0148_letters.ts';
import * as attachments from './0149_attachments.ts';
import * as wholeQueue from './0150_whole_queue.ts';
import * as scheduled from './0151_scheduled.ts';
import * as batches from './0152_batches.ts';
import * as sendKeys from './0153_send_keys.ts';
import * as submission from './0154_submission.ts';
import * as checkedClaims from './0155_checked_claims.ts';
import * as flowCohorts from './0156_flow_cohorts.ts';
import * as unknownLetters from './0157_unknown_letters.ts';

/** All migrations in the order in which they are applied. Add new ones at the end; never change a released one. */
export const migrations = [
  tenants,
  sending,
  engineAndWebhooks,
  capture,
  systemAccount,
  messageUpdates,
  handOver,
  sendingLocks,
  processLocks,
  messageResponse,
  messageRanges,
  heldBacklogs,
  quotas,
  rateLimitBuckets,
  contentWeight,
  sendingIdentities,
  domains,
  providerRouting,
  callbackTokens,
  tracking,
  operatorMails,
  suppressions,
  smsSenders,
  audience,
  contacts,
  imports,
  providerRegistrations,
  exports,
  contactTags,
  templates,
  campaigns,
  campaignLists,
  campaignRuns,
  campaignSending,
  smsStopText,
  unappliedOptOuts,
  installation,
  flows,
  flowEntries,
  flowCounts,
  campaignSpeed,
  unnamedVersions,
  money,
  wallet,
  usage,
  validation,
  scrape,
  flowBounds,
  scrapesOfAccount,
  validationCounts,
  unknownCharges,
  validationQuotes,
  queuedAgain,
  purses,
  fewerSegments,
  pursesOfNewMonths,
  testMessages,
  importErrors,
  keptSmsKeywords,
  removedRecipients,
  validatedSegments,
  campaignHolds,
  campaignSums,
  blockSandbox,
  claimTurns,
  flowPauses,
  loginNetworks,
  suppressionReleases,
  erasures,
  listSizes,
  listedTests,
  templatesOfTestKeys,
  testNames,
  queuedFlows,
  inboxes,
  sessions,
  stats,
  invitationMails,
  audit,
  olderStats,
  revisions,
  bulkActions,
  oauth,
  mcp,
  drafts,
  keptUploads,
  draftBases,
  lastHolds,
  plainMessages,
  morePlainMessages,
  pricedEmails,
  importClaims,
  repeatedMail,
  inboxStorage,
  conversationBulkActions,
  storedKeys,
  visibleLists,
  campaignFilters,
  flowHeaderSecrets,
  namedAddresses,
  accountBounds,
  causedByMail,
  earlierAnswers,
  flowMasks,
  indexesOfStoredMail,
  importConsent,
  importedOptOuts,
  comparedFilters,
  importWarnings,
  unreadReports,
  mailDates,
  raisedFunds,
  comments,
  installedFunctions,
  letters,
  attachments,
  wholeQueue,
  scheduled,
  batches,
  sendKeys,
  submission,
  checkedClaims,
  flowCohorts,
  unknownLetters,
];

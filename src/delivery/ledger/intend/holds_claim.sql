-- Whether a process has a claim, as of now. The statement of an intent may have begun before the claim was recalled, and
-- waited for its locks since.
--
-- called by: intend_messages, intend_letters
-- message: the message
-- process: the process
-- epoch: the epoch of the claim
-- locks: nothing
-- sees: what is committed when it is called, not only what its statement saw when it began
create function holds_claim(message bigint, process bigint, epoch int) returns boolean language plpgsql as $$
begin
  return exists (
    select from send_queue q where q.message_id = message and q.owner = process and q.claim_epoch = epoch);
end $$;

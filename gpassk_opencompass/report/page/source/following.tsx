// A page that is served follows what it shows: what the sweep does, and whether there are new results.

import { useEffect, useState } from 'preact/hooks';
import { content } from './content';

interface Status {
  revision: string;
  line: string;
  done: boolean;
}

const SECONDS = 5;

export function Following() {
  const [status, setStatus] = useState<Status | null>(null);
  const [lost, setLost] = useState(false);
  const poll = content.live?.poll;
  useEffect(() => {
    if (!poll) return undefined;
    const ask = () => fetch(poll, { cache: 'no-store' })
      .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(String(answer.status)))))
      .then((told: Status) => { setStatus(told); setLost(false); })
      .catch(() => setLost(true));
    ask();
    const timer = setInterval(ask, 1000 * SECONDS);
    return () => clearInterval(timer);
  }, [poll]);
  if (lost) return <p class="live" role="status">gpassk view does not answer any more: start it again to follow the runs.</p>;
  if (!status) return null;
  const fresh = status.revision !== content.revision;
  if (!fresh && !status.line) return null;
  return (
    <p class="live" role="status">
      {status.line} {fresh && <button type="button" onClick={() => location.reload()}>There are new results: show them</button>}
    </p>
  );
}

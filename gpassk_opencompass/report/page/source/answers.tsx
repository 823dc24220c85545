// The different answers to a question: how each was judged, by whom, how often, and the responses that gave it.

import { useState } from 'preact/hooks';
import { LabelButtons, type Asked } from './labelling';
import { Rich, visible } from './mathematics';
import { Folded } from './elements';
import { circumstances, Response } from './response';
import { clustersOf, kindOf, KINDS, nameOf, VERDICTS, type Cluster, type Seen } from './samples';
import { VerdictMark } from './strip';

// Different answers that are shown unasked: 48 of them make a long way to what follows.
const SHOWN = 12;

export function Answers({ samples, asked, chosen, onChoose }: {
  samples: Seen[]; asked: Asked; chosen: string[]; onChoose: (key: string) => void;
}) {
  const [all, setAll] = useState(false);
  const clusters = clustersOf(samples);
  const shown = all || clusters.length <= SHOWN + 2 ? clusters : clusters.slice(0, SHOWN);
  return (
    <>
      <ol class="clusters">
        {shown.map((cluster) => (
          <li class="cluster" key={cluster.samples[0].key}>
            <Answer cluster={cluster} of={samples.length} asked={asked} chosen={chosen} onChoose={onChoose} />
          </li>
        ))}
      </ol>
      {shown.length < clusters.length
        && <button type="button" onClick={() => setAll(true)}>Show all {clusters.length} different answers</button>}
    </>
  );
}

function Answer({ cluster, of, asked, chosen, onChoose }: {
  cluster: Cluster; of: number; asked: Asked; chosen: string[]; onChoose: (key: string) => void;
}) {
  const { samples, answer } = cluster;
  const head = <Head cluster={cluster} of={of} />;
  // A response without an answer has its own label: what was overlooked in one may not be in another.
  const together = answer !== '' && <LabelButtons asked={asked} of={cluster} />;
  if (!samples.some(({ told }) => told)) return <><div class="head">{head}<Members samples={samples} /></div>{together}</>;
  return (
    <>
      <Folded summary={head} onPaper={false}>
        {() => samples.map((sample, i) => (
          <Member key={sample.key} sample={sample} asked={asked} cluster={cluster} first={i === 0} chosen={chosen.includes(sample.key)}
            onChoose={() => onChoose(sample.key)} />
        ))}
      </Folded>
      {together}
    </>
  );
}

function Head({ cluster: { samples, answer, verdict, decidedBy }, of }: { cluster: Cluster; of: number }) {
  const cut = samples.filter((sample) => sample.cut).length;
  return (
    <span class="answer-head">
      <VerdictMark kind={verdict === '0' && cut === samples.length ? 'cut' : VERDICTS[verdict]} />{' '}
      <span class="answer-text">
        {answer ? <Rich text={answer} bare /> : <em>{answer === null ? 'answers not on this page' : 'no answer'}</em>}
      </span>{' '}
      <span class="note">
        {KINDS[VERDICTS[verdict]].name}, {samples.length} of {of}{cut > 0 && `, ${cut} cut off`}{decidedBy && ` · ${visible(decidedBy)}`}
      </span>
    </span>
  );
}

const Members = ({ samples }: { samples: Seen[] }) =>
  <p class="note">{samples.length === 1 ? 'Sample' : 'Samples'} {samples.map(({ key }) => key).join(', ')}</p>;

function Member({ sample, asked, cluster, first, chosen, onChoose }: {
  sample: Seen; asked: Asked; cluster: Cluster; first: boolean; chosen: boolean; onChoose: () => void;
}) {
  const told = visible(sample.told ? circumstances(sample.told) : '');
  const summary = <><VerdictMark kind={kindOf(sample)} /> {nameOf(sample)} <span class="note">{told}</span></>;
  return (
    <div class="member">
      <Folded summary={summary} open={first} onPaper={false}>
        {() => (
          <Response seen={sample}>
            {cluster.answer === '' && <LabelButtons asked={asked} of={cluster} sample={sample.key} />}
            <button type="button" aria-pressed={chosen} onClick={onChoose}>{chosen ? 'Put away above' : 'Compare above'}</button>
          </Response>
        )}
      </Folded>
    </div>
  );
}

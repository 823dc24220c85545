// Which runs a table shows, and in which order: by words, by model and settings, by the head of any column.

import './choosing.css';
import { useMemo } from 'preact/hooks';
import type { Run } from './content';
import { lengthOf } from './drawing';
import { Labelled } from './elements';
import { say, usePlace } from './navigation';
import { featureOf, featureText, isChosen, isKept, settingsOf, sortKeys, valuesOf, withValue } from './runs';
import { sorted, type Column } from './virtual';

// Words, and a list of boxes for the model and each setting in which the runs differ.
export function Filters({ runs }: { runs: readonly Run[] }) {
  const { address, go } = usePlace();
  const { differ } = useMemo(() => settingsOf(runs), [runs]);
  const names = ['model', ...differ].filter((name) => valuesOf(runs, name).length > 1 || address.filters[name]);
  const kept = runs.filter((run) => isKept(run, address)).length;
  if (runs.length < 2) return null;
  return (
    <div class="controls filters" role="group" aria-label="Which runs are shown">
      <Labelled label="Runs with the words">
        <input id="filter" type="search" value={address.words} onInput={({ currentTarget }) => go({ words: currentTarget.value }, true)} />
      </Labelled>
      {names.map((name) => <Filter name={name} runs={runs} />)}
      <p id="shown">{kept === runs.length ? `${runs.length} runs` : `${kept} of ${runs.length} runs`}</p>
      {isChosen(address) && <button type="button" onClick={() => go({ words: '', filters: {} })}>Show all runs</button>}
    </div>
  );
}

function Filter({ name, runs }: { name: string; runs: readonly Run[] }) {
  const { address: { filters }, go } = usePlace();
  const chosen = filters[name] ?? [];
  const texts = useMemo(() => valuesOf(runs, name).map(featureText), [runs, name]);
  const boxes = [...texts, ...chosen.filter((text) => !texts.includes(text))];
  const close = (event: KeyboardEvent & { currentTarget: HTMLDetailsElement }) => {
    if (event.key !== 'Escape') return;
    event.currentTarget.open = false;
    event.currentTarget.querySelector('summary')!.focus();
  };
  return (
    <details class="filter" name="filter" data-filter={name} onKeyDown={close}>
      <summary>{name}: {chosen.length ? <strong>{chosen.join(', ')}</strong> : 'all'}</summary>
      <fieldset>
        <legend class="unseen">{name}</legend>
        {boxes.map((text) => (
          <label>
            <input type="checkbox" checked={chosen.includes(text)}
              onChange={({ currentTarget }) => go({ filters: withValue(filters, name, text, currentTarget.checked) }, true)} />
            {' '}{text}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

// A column a setting in which the runs differ.
export function settingColumns<Row>(runs: readonly Run[], runOf: (row: Row) => Run): Column<Row>[] {
  return settingsOf(runs).differ.map((name): Column<Row> => {
    const key = sortKeys(runs, name);
    const numeric = !runs.some((run) => typeof featureOf(run, name) === 'string');
    const shown = (row: Row) => featureOf(runOf(row), name) ?? '–';
    const longest = Math.max(...valuesOf(runs, name).map((value) => lengthOf(featureText(value))), ...name.split('_').map((part) => part.length + 2));
    return { key: name, head: parted(name), cell: shown, by: (row) => key(runOf(row)), numeric, width: Math.min(16, 1 + 0.55 * longest) };
  });
}

// Of a column of models, in rem: a long name ends in dots.
export const modelWidth = (runs: readonly Run[], most: number): number =>
  Math.min(most, Math.max(5, 1.2 + 0.55 * Math.max(...runs.map(({ model }) => lengthOf(model)))));

// Names of settings and metrics may be broken where they have a low line.
export const parted = (name: string) => name.split('_').map((part, i) => [i > 0 && <wbr />, <span class="whole">{i ? `_${part}` : part}</span>]);

export interface Order<Row> {
  rows: Row[];
  sort: { key: string; descending: boolean };
  onSort: (column: Column<Row>) => void;
}

// Rows in the order of the address; `usual` where that names no column. Numbers begin with the largest, texts and `rising` with the least.
export function useOrder<Row>(rows: readonly Row[], columns: Column<Row>[], usual: string, rising: string[] = []): Order<Row> {
  const { address, go } = usePlace();
  const known = columns.some(({ key, by }) => by && key === address.sort);
  const sort = known ? { key: address.sort, descending: address.descending } : { key: usual, descending: !rising.includes(usual) };
  const onSort = ({ key, numeric }: Column<Row>) => {
    const descending = sort.key === key ? !sort.descending : Boolean(numeric) && !rising.includes(key);
    go({ sort: key, descending }, true);
    say(`Sorted by ${key}, ${descending ? 'descending' : 'ascending'}`);
  };
  const inOrder = useMemo(() => sorted(rows, columns.find(({ key }) => key === sort.key), sort.descending),
    [rows, columns, sort.key, sort.descending]);
  return { rows: inOrder, sort, onSort };
}

// What all runs have is said once.
export function SameSettings({ runs }: { runs: readonly Run[] }) {
  const { same } = useMemo(() => settingsOf(runs), [runs]);
  const models = valuesOf(runs, 'model');
  const told = [...(models.length === 1 ? [`model ${models[0]}`] : []), ...same.map(([name, value]) => `${name} ${featureText(value)}`)];
  if (runs.length < 2 || !told.length) return null;
  return <p class="note">All runs have {told.join(', ')}.</p>;
}

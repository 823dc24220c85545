"""The tiny model and the questions that come with this package: the whole flow in minutes on a CPU.

    gpassk demo

nono1.py explains each line.
"""

from gpassk_opencompass.demo import LANGUAGES, MODEL, QUESTIONS, SPLITS, VERSION

engine = 'huggingface'

# No GPU: tp = 0.
llm_infos = [dict(path=MODEL, name='demo', tp=0, batch_size=256)]
model_kwargs = dict(torch_dtype='torch.float32', device_map='cpu')
max_seq_len = 4096

# The greedy run and two temperatures.
temperatures = [0.0, 0.3, 1.0]
max_out_lens = [40]
random_seeds = [42]

k_lists = [[4, 8, 16]]
n = 48

dataset_path = QUESTIONS
version = VERSION
dataset_splits = SPLITS
dataset_languages = LANGUAGES

datasets = [
    dict(
        abbr='aime-llm',
        eval_cfg=dict(
            evaluator=dict(
                dataset_cfg=dict(
                    abbr='judged',
                    path='logs/questions.jsonl',
                    reader_cfg=dict(
                        input_columns=[
                            'question',
                        ], output_column='answer'),
                    type='opencompass.datasets.Aime2024Dataset'),
                dict_postprocessor=dict(
                    type='opencompass.datasets.generic_llmjudge_postprocess'),
                judge_cfg=dict(
                    abbr='judge',
                    batch_size=5,
                    max_out_len=64,
                    path='logs/judge.asked.json',
                    run_cfg=dict(num_gpus=0),
                    type='make_opencompass_logs.Judge'),
                prompt_template=dict(
                    template=dict(round=[
                        dict(
                            prompt=
                            'Question: {question}\nGold: {answer}\nResponse: {prediction}\nA or B?',
                            role='HUMAN'),
                    ]),
                    type=
                    'opencompass.openicl.icl_prompt_template.PromptTemplate'),
                type='opencompass.evaluator.GenericLLMEvaluator')),
        infer_cfg=dict(
            inferencer=dict(
                type='opencompass.openicl.icl_inferencer.GenInferencer'),
            prompt_template=dict(
                template=dict(round=[
                    dict(
                        prompt=
                        '{question}\nRemember to put your final answer within \\boxed{}.',
                        role='HUMAN'),
                ]),
                type='opencompass.openicl.icl_prompt_template.PromptTemplate'),
            retriever=dict(
                type='opencompass.openicl.icl_retriever.ZeroRetriever')),
        k=[
            2,
            4,
        ],
        n=4,
        path='logs/questions.jsonl',
        reader_cfg=dict(input_columns=[
            'question',
        ], output_column='answer'),
        type='opencompass.datasets.Aime2024Dataset'),
]
infer = dict(
    partitioner=dict(type='opencompass.partitioners.NaivePartitioner'),
    runner=dict(
        max_num_workers=1,
        task=dict(type='opencompass.tasks.OpenICLInferTask'),
        type='opencompass.runners.LocalRunner'))
models = [
    dict(
        abbr='judged',
        batch_size=5,
        max_out_len=64,
        path='logs/judged.asked.json',
        run_cfg=dict(num_gpus=0),
        type='make_opencompass_logs.InWords'),
]
work_dir = 'logs/llm/20260101_120000'
